import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countClicks } from '../analytics/click-counts.ts';
import type { Database } from '../db/database.ts';
import { createSinkOffsets } from '../db/sink-offset.ts';
import { systemClock } from '../kernel/clock.ts';
import { createLinkCounterStore } from '../links/link-counters.store.ts';
import { clickRecord } from '../testing/click-records.ts';
import { eachDatabase } from '../testing/databases.ts';
import { insertLinks } from '../testing/link-rows.ts';
import { createWorkspaceStore } from '../workspaces/workspace.store.ts';
import { createCounterSink } from './counter-sink.ts';

const JANUARY = Date.UTC(2027, 0, 31, 23);
const FEBRUARY = Date.UTC(2027, 1, 1);
const month = (year: number, index: number) => year * 12 + index;
const at = (offset: number) => ({ segment: 1, offset });

async function newSink(db: Database) {
  return createCounterSink({
    db,
    offsets: createSinkOffsets({ db, clock: systemClock }),
    offsetName: 'counters/node_1',
    links: createLinkCounterStore(db),
    workspaces: createWorkspaceStore(db),
  });
}

/** A workspace with so many links. */
async function makeLinks(db: Database, count: number) {
  const workspaceId = 'ws_1';
  const workspace = {
    id: workspaceId,
    name: 'One',
    slug: 'one',
    plan: 'enterprise' as const,
    inviteCode: null,
  };
  await createWorkspaceStore(db).insert(workspace, 1);
  const keys = Array.from({ length: count }, (_, n) => `key-${n}`);
  await insertLinks(db, { workspaceId, domain: 'go.example.com' }, keys);
  const rows = await db.query.selectFrom('link').select('id').orderBy('id').execute();
  return { workspaceId, ids: rows.map(({ id }) => id) };
}

eachDatabase('the counters', ({ open }) => {
  test('add clicks to links and workspaces, keep the latest time, and pass over links that are gone', async () => {
    const db = await open();
    const { workspaceId, ids } = await makeLinks(db, 3);
    const sink = await newSink(db);
    const click = (link: number, timeMs: number, url = 'https://example.com/') =>
      clickRecord(0, { linkId: ids[link] ?? 'link_gone', workspaceId, timeMs, url });
    const first = countClicks([
      click(0, JANUARY),
      click(1, JANUARY),
      click(0, JANUARY - 5),
      click(9, JANUARY),
    ]);
    await sink.append({ from: undefined, upTo: at(1), batch: first });
    const second = countClicks([click(0, FEBRUARY), click(0, JANUARY + 1, '')]);
    await sink.append({ from: at(1), upTo: at(2), batch: second });
    const links = await db.query
      .selectFrom('link')
      .select(['id', 'clicks', 'last_clicked_at'])
      .orderBy('id')
      .execute();
    assert.deepEqual(
      new Map(links.map(({ id, clicks, last_clicked_at }) => [id, [clicks, last_clicked_at]])),
      new Map([
        [ids[0], [4, FEBRUARY]],
        [ids[1], [1, JANUARY]],
        [ids[2], [0, 0]],
      ]),
    );
    const workspace = await db.query
      .selectFrom('workspace')
      .select(['events_usage', 'usage_month', 'total_clicks'])
      .where('id', '=', workspaceId)
      .executeTakeFirstOrThrow();
    assert.deepEqual(workspace, { events_usage: 1, usage_month: month(2027, 1), total_clicks: 6 });
    assert.deepEqual(await sink.committed(), at(2));
  });

  test('clicks of a month that is over count in total only', async () => {
    const db = await open();
    const { workspaceId } = await makeLinks(db, 1);
    const workspaces = createWorkspaceStore(db);
    await workspaces.addClicks(month(2027, 1), [{ workspaceId, clicks: 2, usage: 2 }]);
    await workspaces.addClicks(month(2027, 0), [{ workspaceId, clicks: 3, usage: 3 }]);
    await workspaces.addClicks(month(2027, 1), [{ workspaceId, clicks: 1, usage: 1 }]);
    const found = await workspaces.findById(workspaceId);
    assert.deepEqual([found?.usage.events, found?.usage.month, found?.totalClicks], [3, month(2027, 1), 6]);
  });

  test('a batch that does not begin where the sink is changes nothing', async () => {
    const db = await open();
    const { workspaceId, ids } = await makeLinks(db, 1);
    const sink = await newSink(db);
    const batch = countClicks([clickRecord(0, { linkId: ids[0] as string, workspaceId })]);
    await sink.append({ from: undefined, upTo: at(1), batch });
    for (const from of [undefined, at(0), at(2)]) {
      await assert.rejects(sink.append({ from, upTo: at(3), batch }), /no longer at/);
    }
    // The same step from two threads, of which one was believed dead: one of them wins.
    const twice = await Promise.allSettled(
      [1, 2].map(() => sink.append({ from: at(1), upTo: at(2), batch })),
    );
    assert.deepEqual(twice.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    const { clicks } = await db.query.selectFrom('link').select('clicks').executeTakeFirstOrThrow();
    assert.equal(clicks, 2);
    assert.deepEqual(await sink.committed(), at(2));
  });

  test('a batch over many links is stored as a whole', async () => {
    const db = await open();
    const { workspaceId, ids } = await makeLinks(db, 1_200);
    const sink = await newSink(db);
    const clicks = ids.map((linkId, n) => clickRecord(n, { linkId, workspaceId }));
    await sink.append({ from: undefined, upTo: at(1), batch: countClicks([...clicks, ...clicks]) });
    const { total } = await db.query
      .selectFrom('link')
      .select((eb) => eb.fn.sum<number>('clicks').as('total'))
      .executeTakeFirstOrThrow();
    assert.equal(Number(total), 2_400);
  });
});
