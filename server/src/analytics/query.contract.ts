// What every engine answers: the same as the naive recount, on generated events and generated queries. Each
// engine's test file calls it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { clickRecord } from '../testing/click-records.ts';
import { createRandom, type DataSize, makeEvents } from '../testing/event-data.ts';
import { CONDITIONS, type ConditionName, makeQuestion, type Question } from '../testing/event-questions.ts';
import { createOracle, type Dataset } from './oracle.ts';
import {
  type AggregateQuery,
  EVENT_FIELDS,
  type EventReader,
  GROUPINGS,
  LINK_FIELDS,
  MAX_GROUPS,
} from './query.ts';
import type { EventStore } from './store.ts';

export interface QueryContractSize extends DataSize {
  readonly queries: number;
}

const SIZE: QueryContractSize = { clicks: 3_000, leads: 700, sales: 700, queries: 700 };
const SEED = 20_270_314;
const BATCH = 500;
const PAGE = 97;
/** An engine may run in an emulator, beside other tests. */
const TIMEOUT_MS = 900_000;

export function queryContract(openStore: () => Promise<EventStore>, size: QueryContractSize = SIZE): void {
  const random = createRandom(SEED);
  const data = makeEvents(random, size);
  const questions = Array.from({ length: size.queries }, (_, n) => makeQuestion(random, n, data));
  const oracle = createOracle(data);
  let store: EventStore;

  before(async () => {
    store = await openStore();
    await fill(store, data);
  });
  after(() => store.close());

  test(`${size.queries} generated queries give what a naive recount gives`, {
    timeout: TIMEOUT_MS,
  }, async () => {
    const useful = new Set<string>();
    for (const [n, question] of questions.entries()) {
      const [expected, found] = [await ask(oracle, question), await ask(store, question)];
      assert.deepEqual(found, expected, `query ${n}: ${JSON.stringify(question)}`);
      if (isEmpty(expected)) continue;
      useful.add(formOf(question));
      for (const name of conditionsOf(question)) {
        if (useful.has(name)) continue;
        const without = await ask(oracle, leaveOut(question, name));
        if (!isDeepStrictEqual(without, expected)) useful.add(name);
      }
    }
    const wanted = [...CONDITIONS, ...Object.keys(GROUPINGS), 'list'];
    const missing = wanted.filter((name) => !useful.has(name));
    assert.deepEqual(missing, [], 'groupings without an answer, and conditions that never made a difference');
  });

  const everything = { fromMs: 0, toMs: Date.UTC(2100, 0) };

  test('events of a link that nobody has told of yet count, unless something is asked of links', async () => {
    const query = { ...everything, workspaceId: 'ws_unknown', event: 'clicks', groupBy: 'count' } as const;
    const click = clickRecord(1, { workspaceId: 'ws_unknown', linkId: 'link_unknown' });
    await store.append({ clicks: [click], links: [] }, { segment: 2, offset: 1 });
    const count = async (conditions: Partial<AggregateQuery>) =>
      (await store.aggregate({ ...query, ...conditions }))[0]?.clicks;
    assert.equal(await count({}), 1);
    assert.equal(await count({ fixedLinkId: 'link_unknown' }), 1);
    assert.equal(await count({ domain: { not: true, values: ['d.example'] } }), 0);
    assert.equal(await count({ hiddenFolderIds: ['fold_1'] }), 0);
  });

  test('the largest groups are kept when there are too many, in a fixed order', async () => {
    const clicks = Array.from({ length: MAX_GROUPS + 20 }, (_, n) =>
      clickRecord(n, {
        id: `many-${n}`,
        workspaceId: 'ws_many',
        url: `https://example.com/${n % (MAX_GROUPS + 10)}`,
      }),
    );
    await store.append({ clicks, links: [] }, { segment: 2, offset: 2 });
    const query = { ...everything, workspaceId: 'ws_many', event: 'clicks', groupBy: 'top_urls' } as const;
    const rows = await store.aggregate(query);
    assert.equal(rows.length, MAX_GROUPS);
    const naive = createOracle({ clicks, leads: [], sales: [], links: [], partners: [] });
    assert.deepEqual(rows, await naive.aggregate(query));
  });

  test('pages neither overlap nor leave gaps, by number and by place, in both directions', async () => {
    for (const order of ['asc', 'desc'] as const) {
      const query = { ...everything, workspaceId: 'ws_1', kind: 'clicks', order, offset: 0 } as const;
      const expected = await oracle.list({ ...query, limit: data.clicks.length });
      let after: { timeMs: number; id: string } | undefined;
      for (let offset = 0; offset <= expected.length; offset += PAGE) {
        const page = await store.list({ ...query, limit: PAGE, offset });
        assert.deepEqual(page, expected.slice(offset, offset + PAGE));
        assert.deepEqual(await store.list({ ...query, limit: PAGE, ...(after && { after }) }), page);
        after = page.at(-1);
      }
    }
  });

  test('nothing that a caller writes becomes part of the SQL', async () => {
    const hostile = ["'", '"', "') or 1=1 --", '$1', '{p1:String}', '\\', '\u0000', '%', '?', '日本', ''];
    const query = { ...everything, workspaceId: 'ws_1', event: 'composite', groupBy: 'count' } as const;
    const filter = { not: false, values: hostile };
    for (const name of [...LINK_FIELDS, ...EVENT_FIELDS]) {
      const conditions = { ...query, [name]: filter };
      assert.deepEqual(await store.aggregate(conditions), await oracle.aggregate(conditions), name);
    }
    for (const text of hostile) {
      const comparison = { path: [text, 'x'], operator: '=', value: text } as const;
      const conditions = { ...query, fixedLinkId: text, customerId: text, metadata: comparison };
      assert.deepEqual(await store.aggregate(conditions), await oracle.aggregate(conditions), text);
    }
  });
}

async function fill(store: EventStore, { clicks, leads, sales, links, partners }: Dataset): Promise<void> {
  await store.append({ clicks: [], links, partners }, { segment: 1, offset: 1 });
  const parts = Math.ceil(clicks.length / BATCH);
  for (let n = 0; n < parts; n++) {
    const part = <T>(items: readonly T[]) =>
      items.slice((n * items.length) / parts, ((n + 1) * items.length) / parts);
    const batch = { clicks: part(clicks), links: [], leads: part(leads), sales: part(sales) };
    await store.append(batch, { segment: 1, offset: n + 2 });
  }
}

function ask(reader: EventReader, question: Question): Promise<readonly object[]> {
  return 'list' in question ? reader.list(question.list) : reader.aggregate(question.aggregate);
}

function isEmpty(rows: readonly object[]): boolean {
  return rows.every((row) => 'group' in row && 'clicks' in row && sum(row as Record<string, number>) === 0);
}

function sum({ clicks = 0, leads = 0, sales = 0 }: Record<string, number>): number {
  return clicks + leads + sales;
}

function formOf(question: Question): string {
  return 'list' in question ? 'list' : question.aggregate.groupBy;
}

function conditionsOf(question: Question): ConditionName[] {
  const query = 'list' in question ? question.list : question.aggregate;
  return CONDITIONS.filter((name) => query[name] !== undefined);
}

function leaveOut(question: Question, name: ConditionName): Question {
  if ('list' in question) {
    const { [name]: _, ...list } = question.list;
    return { list };
  }
  const { [name]: _, ...aggregate } = question.aggregate;
  return { aggregate };
}
