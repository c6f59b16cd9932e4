import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPartnerClicks } from './partner-clicks.ts';
import { MAX_GROUPS } from './query.ts';

test('an answer of the event store that is full may not be all', async () => {
  const row = (n: number) => ({ group: { id: `link_${n}` }, clicks: 1 });
  const questions: object[] = [];
  const count = (rows: number, of: { linkIds?: string[] }) =>
    createPartnerClicks(async (query) => {
      questions.push(query);
      return Array.from({ length: rows }, (_, n) => row(n)) as never;
    })({ workspaceId: 'ws', partnerId: 'pn', fromMs: 0, toMs: 1, of }, new AbortController().signal);
  assert.equal((await count(MAX_GROUPS - 1, {})).isAll, true);
  assert.equal((await count(MAX_GROUPS, {})).isAll, false);
  await count(1, { linkIds: ['link_1', 'link_2'] });
  assert.partialDeepStrictEqual(questions.at(-1), {
    groupBy: 'top_links',
    linkId: { not: false, values: ['link_1', 'link_2'] },
    partnerId: { not: false, values: ['pn'] },
  });
});
