// Groupings by things of partners, which the API test has none of: what a row shows, and what is left out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../kernel/clock.ts';
import { createAnalytics, type GroupThings } from './analytics.ts';
import { analyticsSchema } from './analytics-rows.ts';
import type { Question } from './event-questions.ts';
import type { AggregateRow, EventReader, GroupBy } from './query.ts';
import { findTimeZone, type TimeZone } from './time-zone.ts';

const numbers = { clicks: 3, leads: 2, sales: 1, saleAmount: 900 };
const question: Question = {
  query: { workspaceId: 'ws_1', fromMs: 0, toMs: 1 },
  zone: findTimeZone('UTC') as TimeZone,
  interval: '24h',
};
const none = async () => new Map();

function analyticsOver(rows: readonly AggregateRow[], things: Partial<GroupThings>) {
  const reader: Pick<EventReader, 'list' | 'aggregate'> = {
    list: async () => [],
    aggregate: async () => rows,
  };
  const unused = () => Promise.reject(new Error('not asked here'));
  const nothing: GroupThings = {
    findLinks: none,
    findFolders: none,
    findTags: none,
    findPartners: none,
    findGroups: none,
    findPartnerTags: none,
  };
  return createAnalytics({
    reader,
    questions: { read: unused },
    workspaces: { get: unused },
    things: { ...nothing, ...things },
    clock: manualClock(0),
  });
}

async function shownAs(groupBy: GroupBy, name: string, things: Partial<GroupThings>): Promise<unknown> {
  const rows = ['a', 'gone'].map((id) => ({ group: { [name]: id }, ...numbers }));
  return analyticsSchema.parse(
    await analyticsOver(rows, things).answer(question, { event: 'composite', groupBy }),
  );
}

const only =
  <T extends { id: string }>(thing: T) =>
  async () =>
    new Map([[thing.id, thing]]);

test('partners, groups and partner tags are shown as they are, and those that are gone are not', async () => {
  const partner = {
    id: 'a',
    name: 'Kim',
    email: 'kim@x.example',
    image: null,
    payoutsEnabledAt: 0,
    country: 'US',
  };
  const findPartners = only({ ...partner, secret: 'not shown' });
  assert.deepEqual(await shownAs('top_partners', 'partnerId', { findPartners }), [
    { partnerId: 'a', partner: { ...partner, payoutsEnabledAt: '1970-01-01T00:00:00.000Z' }, ...numbers },
  ]);
  const group = { id: 'a', name: 'Best', slug: 'best', color: null };
  const findGroups = only({ ...group, secret: 'not shown' });
  assert.deepEqual(await shownAs('top_groups', 'groupId', { findGroups }), [
    { groupId: 'a', group, ...numbers },
  ]);
  const partnerTag = { id: 'a', name: 'Blogs' };
  const findPartnerTags = only({ ...partnerTag, secret: 'not shown' });
  assert.deepEqual(await shownAs('top_partner_tags', 'partnerTagId', { findPartnerTags }), [
    { partnerTagId: 'a', partnerTag, ...numbers },
  ]);
});

test('things of thousands of groups are looked up a part at a time, and keep their order', async () => {
  const ids = Array.from({ length: 2_500 }, (_, i) => `ptag_${i}`);
  const sizes: number[] = [];
  const findPartnerTags: GroupThings['findPartnerTags'] = async (_workspaceId, asked) => {
    sizes.push(asked.length);
    return new Map(asked.toReversed().map((id) => [id, { id, name: id }]));
  };
  const rows = ids.map((id) => ({ group: { partnerTagId: id }, ...numbers }));
  const analytics = analyticsOver(rows, { findPartnerTags });
  const answer = await analytics.answer(question, { event: 'clicks', groupBy: 'top_partner_tags' });
  assert.ok(Array.isArray(answer));
  assert.deepEqual(
    answer.map(({ partnerTagId }) => partnerTagId),
    ids,
  );
  assert.deepEqual(sizes, [1_000, 1_000, 500]);
});
