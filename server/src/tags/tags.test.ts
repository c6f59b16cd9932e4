import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { openTestApp, type TestApp, type TestWorkspace } from '../testing/test-app.ts';
import { DEFAULT_TAG_COLORS, foldName, TAG_COLORS } from './tag.ts';

describe('tag names', () => {
  for (const [one, other] of [
    ['Promo', 'pROMO'],
    ['É', 'é'],
    ['Ü', 'u\u0308'],
    ['ÇA', 'ça'],
  ] as const) {
    test(`${one} and ${other} are the same name`, () => assert.equal(foldName(one), foldName(other)));
  }
  for (const [one, other] of [
    ['a', 'á'],
    ['a b', 'ab'],
    ['1', 'l'],
  ] as const) {
    test(`${one} and ${other} are different names`, () => assert.notEqual(foldName(one), foldName(other)));
  }
  test('pink is not handed out by itself', () => {
    assert.deepEqual(DEFAULT_TAG_COLORS, ['red', 'yellow', 'green', 'blue', 'purple', 'brown', 'gray']);
  });
});

eachDatabase('tags', (databases) => {
  let t: TestApp;
  let ws: TestWorkspace;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  const fresh = async () => {
    ws = await t.workspace();
  };
  const create = (body: unknown) => t.request('POST', '/tags', { key: ws.key, body });
  const get = async (query: string) => (await t.request('GET', `/tags${query}`, { key: ws.key })).json;
  const names = async (query: string): Promise<string[]> =>
    (await get(query)).map((tag: { name: string }) => tag.name);
  const createAll = async (...all: string[]) => {
    for (const name of all) {
      assert.equal((await create({ name })).status, 201);
      t.clock.advance(1);
    }
  };

  test('a tag is its id, its trimmed name and its colour, nothing else', async () => {
    await fresh();
    const { status, json } = await create({ name: ' Promo\n', color: 'blue', other: 1 });
    assert.equal(status, 201);
    assert.match(json.id, /^tag_[0-9A-Z]{26}$/);
    assert.deepEqual(json, { id: json.id, name: 'Promo', color: 'blue' });
    assert.deepEqual(await get(''), [json]);
  });

  test('every colour is taken, another one is 422, and none means one of seven', async () => {
    await fresh();
    for (const color of TAG_COLORS) assert.equal((await create({ name: color, color })).json.color, color);
    assert.equal((await create({ name: 'x', color: 'mauve' })).status, 422);
    for (let i = 0; i < 20; i++) {
      const { color } = (await create({ name: `random ${i}` })).json;
      assert.ok(DEFAULT_TAG_COLORS.includes(color), color);
    }
  });

  test('a name has 1 to 190 characters after trimming', async () => {
    await fresh();
    assert.equal((await create({ name: ` ${'n'.repeat(190)} ` })).status, 201);
    for (const name of ['n'.repeat(191), '', '   ']) {
      const { status, json } = await create({ name });
      assert.equal(status, 422);
      assert.match(json.error.message, /^too_(big|small): name: /);
    }
  });

  test('without a name it is 400 on name', async () => {
    await fresh();
    for (const body of [{}, { color: 'red' }]) {
      const { status, json } = await create(body);
      assert.equal(status, 400);
      assert.match(json.error.message, /^invalid_type: name: /);
    }
  });

  test('tag is another word for name and wins', async () => {
    await fresh();
    assert.equal((await create({ tag: ' Alone ' })).json.name, 'Alone');
    const both = (await create({ name: 'loses', tag: 'wins' })).json;
    assert.equal(both.name, 'wins');
    const renamed = await t.request('PATCH', `/tags/${both.id}`, { key: ws.key, body: { tag: 'again' } });
    assert.equal(renamed.json.name, 'again');
  });

  test('a name is unique in its workspace whatever its case, and free in others', async () => {
    await fresh();
    await createAll('Äpfel', 'Birnen');
    for (const name of ['äpfel', 'A\u0308PFEL', ' Äpfel '])
      assert.equal((await create({ name })).status, 409, name);
    const [, pears] = await get('?sortBy=createdAt');
    const rename = (body: unknown) => t.request('PATCH', `/tags/${pears.id}`, { key: ws.key, body });
    assert.equal((await rename({ name: 'ÄPFEL' })).status, 409);
    assert.equal((await rename({ name: 'BIRNEN' })).json.name, 'BIRNEN');
    const other = await t.workspace();
    assert.equal((await t.request('POST', '/tags', { key: other.key, body: { name: 'Äpfel' } })).status, 201);
  });

  test('a change keeps what is absent, by PATCH and by PUT', async () => {
    await fresh();
    const { id } = (await create({ name: 'Old', color: 'red' })).json;
    for (const [method, body, expected] of [
      ['PATCH', { color: 'pink' }, { id, name: 'Old', color: 'pink' }],
      ['PATCH', { name: ' New ' }, { id, name: 'New', color: 'pink' }],
      ['PUT', { name: 'Newer', color: 'gray' }, { id, name: 'Newer', color: 'gray' }],
      ['PATCH', {}, { id, name: 'Newer', color: 'gray' }],
    ] as const) {
      const reply = await t.request(method, `/tags/${id}`, { key: ws.key, body });
      assert.equal(reply.status, 200);
      assert.deepEqual(reply.json, expected);
    }
    const refused = await t.request('PATCH', `/tags/${id}`, { key: ws.key, body: { name: null } });
    assert.equal(refused.status, 400);
  });

  test('a deleted tag is gone at once and its name is free', async () => {
    await fresh();
    const { id } = (await create({ name: 'Gone' })).json;
    const reply = await t.request('DELETE', `/tags/${id}`, { key: ws.key });
    assert.equal(reply.status, 200);
    assert.deepEqual(reply.json, { id });
    assert.deepEqual(await get(''), []);
    assert.equal((await t.request('DELETE', `/tags/${id}`, { key: ws.key })).status, 404);
    assert.equal((await create({ name: 'gone' })).status, 201);
  });

  test('search finds a part of the name in any case, and % and _ mean themselves', async () => {
    await fresh();
    await createAll(
      'Spring Sale',
      '50% off',
      '50 euros off',
      'snake_case',
      'snakeXcase',
      'Ärger',
      'back\\slash',
    );
    const search = (text: string) => names(`?search=${encodeURIComponent(text)}`);
    assert.deepEqual(await search('NG sa'), ['Spring Sale']);
    assert.deepEqual(await search('%'), ['50% off']);
    assert.deepEqual(await search('_'), ['snake_case']);
    assert.deepEqual(await search('\\'), ['back\\slash']);
    assert.deepEqual(await search('äRG'), ['Ärger']);
    assert.deepEqual(await search('nothing'), []);
    const count = await t.request('GET', '/tags/count?search=OFF', { key: ws.key });
    assert.equal(count.json, 2);
    assert.equal((await t.request('GET', '/tags/count', { key: ws.key })).json, 7);
  });

  test('ids are taken with commas and repeated, and name only tags of the workspace', async () => {
    const other = await t.workspace();
    const foreign = (await t.request('POST', '/tags', { key: other.key, body: { name: 'theirs' } })).json.id;
    await fresh();
    await createAll('a', 'b', 'c');
    const [a, b, c] = (await get('')).map((tag: { id: string }) => tag.id);
    assert.deepEqual(await names(`?ids=${a},${c}`), ['a', 'c']);
    assert.deepEqual(await names(`?ids=${a}&ids=${b}`), ['a', 'b']);
    assert.deepEqual(await names(`?ids=${a},${foreign}&ids=${b},nope`), ['a', 'b']);
    assert.deepEqual(await names(`?ids=${foreign}`), []);
    assert.deepEqual(await names(`?ids=${c}&search=a`), []);
  });

  test('the list is sorted by name or by age, both ways, by name by default', async () => {
    await fresh();
    await createAll('b', 'C', 'a');
    assert.deepEqual(await names(''), ['a', 'b', 'C']);
    assert.deepEqual(await names('?sortOrder=desc'), ['C', 'b', 'a']);
    assert.deepEqual(await names('?sortBy=createdAt'), ['b', 'C', 'a']);
    assert.deepEqual(await names('?sortBy=createdAt&sortOrder=desc'), ['a', 'C', 'b']);
  });

  test('pages follow each other without overlap, also of tags made in the same moment', async () => {
    await fresh();
    await Promise.all(Array.from({ length: 25 }, (_, i) => create({ name: `t${i}` })));
    for (const sort of ['name', 'createdAt']) {
      const pages: string[][] = [];
      for (let page = 1; page <= 4; page++)
        pages.push(await names(`?sortBy=${sort}&pageSize=10&page=${page}`));
      assert.deepEqual(
        pages.map((page) => page.length),
        [10, 10, 5, 0],
      );
      assert.equal(new Set(pages.flat()).size, 25);
      assert.deepEqual(pages.flat(), await names(`?sortBy=${sort}`));
    }
    assert.deepEqual(await names('?page=9007199254740991'), []);
  });

  test('the limit is looked at before the body', async () => {
    await fresh();
    await t.app.services.workspaces.setLimit(ws.id, 'tags', 1);
    await createAll('only');
    for (const body of [{ name: 'more' }, {}, '{broken']) {
      const reply = await create(body);
      assert.equal(reply.status, 403);
      assert.match(reply.json.error.message, /limited to 1 tags/);
    }
    await t.app.services.workspaces.setLimit(ws.id, 'tags', null);
    await createAll('more');
  });

  test('the limit is exact when many ask at once', async () => {
    await fresh();
    await t.app.services.workspaces.setLimit(ws.id, 'tags', 5);
    const replies = await Promise.all(Array.from({ length: 30 }, (_, i) => create({ name: `t${i}` })));
    assert.equal(replies.filter((reply) => reply.status === 201).length, 5);
    assert.equal(replies.filter((reply) => reply.status === 403).length, 25);
    assert.equal((await t.request('GET', '/tags/count', { key: ws.key })).json, 5);
  });

  test('of many that want one name at once, one gets it', async () => {
    await fresh();
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) => create({ name: i % 2 ? 'Same' : 'sAME' })),
    );
    assert.equal(replies.filter((reply) => reply.status === 201).length, 1);
    assert.equal(replies.filter((reply) => reply.status === 409).length, 19);
  });

  test('each change leaves its event in the outbox, and a refused one leaves none', async () => {
    await fresh();
    const { id } = (await create({ name: 'A', color: 'red' })).json;
    await create({ name: 'a' });
    await t.request('PATCH', `/tags/${id}`, { key: ws.key, body: { name: 'B' } });
    await t.request('PATCH', '/tags/nope', { key: ws.key, body: { name: 'B' } });
    await t.request('DELETE', `/tags/${id}`, { key: ws.key });
    const events = await t.app.db.query
      .selectFrom('outbox')
      .select(['type', 'payload'])
      .where('workspace_id', '=', ws.id)
      .orderBy('id')
      .execute();
    assert.deepEqual(
      events.map(({ type, payload }) => [type, JSON.parse(payload)]),
      [
        ['tag.created', { id, name: 'A', color: 'red' }],
        ['tag.updated', { id, name: 'B', color: 'red' }],
        ['tag.deleted', { id, name: 'B', color: 'red' }],
      ],
    );
  });

  test('a change and its event are one: when the transaction fails neither is there', async () => {
    await fresh();
    const { db, services } = t.app;
    await assert.rejects(
      db.write(async () => {
        await services.tags.create(ws.actor, { name: 'half' });
        throw new Error('power cut');
      }),
      /power cut/,
    );
    assert.deepEqual(await get(''), []);
    const events = await db.query
      .selectFrom('outbox')
      .select('id')
      .where('workspace_id', '=', ws.id)
      .execute();
    assert.deepEqual(events, []);
  });
});
