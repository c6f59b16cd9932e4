import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { parseInput, parseJson, queryValues, readBody } from './input.ts';

const QUERY = z.object({
  page: z.int().min(1).default(1),
  ratio: z.number().optional(),
  archived: z.boolean().optional(),
  ids: z.array(z.string()).max(3).optional(),
  search: z.string().trim().optional(),
  sort: z.enum(['a', 'b']).default('a').describe('wrapped twice'),
  size: z
    .int()
    .refine((size) => size !== 13)
    .nullish(),
});

const read = (search: string) => queryValues(QUERY, new URLSearchParams(search));

describe('query text becomes the types of its schema', () => {
  for (const [search, values] of [
    ['', {}],
    ['page=2', { page: 2 }],
    ['page=%202%20', { page: 2 }],
    ['page=-1', { page: -1 }],
    ['page=1.5', { page: 1.5 }],
    ['page=1e3', { page: 1000 }],
    ['page=1e309', { page: Number.POSITIVE_INFINITY }],
    ['page=0x10', { page: '0x10' }],
    ['page=', { page: '' }],
    ['page=two', { page: 'two' }],
    ['page=1&page=2', { page: 2 }],
    ['ratio=.5', { ratio: 0.5 }],
    ['size=13', { size: 13 }],
    ['archived=true', { archived: true }],
    ['archived=FALSE', { archived: false }],
    ['archived=1', { archived: '1' }],
    ['archived=', { archived: '' }],
    ['ids=a,b&ids=c', { ids: ['a', 'b', 'c'] }],
    ['ids=,a,,b,', { ids: ['a', 'b'] }],
    ['ids=', { ids: [] }],
    ['search=a,b', { search: 'a,b' }],
    ['search=1', { search: '1' }],
    ['search=a+b%20c', { search: 'a b c' }],
    ['sort=b', { sort: 'b' }],
    ['other=1&__proto__=2&constructor=3', {}],
  ] as const) {
    test(`"${search}"`, () => assert.deepEqual(read(search), values));
  }

  test('NUL is refused by the name of its parameter', () => {
    assert.throws(() => read('ids=a,b%00'), { code: 'unprocessable_entity', message: /^custom: ids\[1\]: / });
    assert.throws(() => read('search=%00'), { message: /^custom: search: / });
    assert.deepEqual(read('other=%00'), {});
  });
});

describe('a body', () => {
  const parse = (text: string | Uint8Array) => parseJson(typeof text === 'string' ? Buffer.from(text) : text);

  test('is JSON in UTF-8, with or without a byte order mark', () => {
    assert.deepEqual(parse('\ufeff{"a":"ü"}'), { a: 'ü' });
    assert.deepEqual(parse(' [1] '), [1]);
  });

  for (const text of ['', ' ', '{', "{'a':1}", '{"a":1,}', 'NaN', '\u0000']) {
    test(`${JSON.stringify(text)} is 400`, () =>
      assert.throws(() => parse(text), { code: 'bad_request', message: /^invalid_type: body: / }));
  }

  for (const [text, path] of [
    ['{"a":{"b":["x","y\\u0000"]}}', 'a.b[1]'],
    ['{"a":"\\ud800"}', 'a'],
    ['["\\udfff"]', '[0]'],
    ['"\\u0000"', ''],
    ['{"a":[{"__proto__":1}]}', 'a[0].__proto__'],
    ['{"a":{"b\\u0000":1}}', 'a'],
    [`${'{"a":'.repeat(70)}1${'}'.repeat(70)}`, 'a.a.a'],
    [`{"x":${'['.repeat(70)}${']'.repeat(70)}}`, 'x[0][0]'],
  ] as const) {
    test(`what no field may hold is refused at "${path}"`, () => {
      assert.throws(
        () => parse(text),
        (error: Error & { code: string }) => {
          assert.equal(error.code, 'unprocessable_entity');
          assert.ok(error.message.startsWith(`custom: ${path}: `), error.message);
          return true;
        },
      );
    });
  }

  test('may be nested, repeat values and name a constructor', () => {
    const text = `{"constructor":{"prototype":1},"deep":${'['.repeat(60)}"ok"${']'.repeat(60)},"😀":"😀"}`;
    assert.deepEqual(Object.keys(parse(text) as object), ['constructor', 'deep', '😀']);
  });

  const stream = (...chunks: string[]) => ReadableStream.from(chunks.map((chunk) => Buffer.from(chunk)));

  test('is read up to its limit and no further', async () => {
    assert.equal(Buffer.from(await readBody(stream('ab', 'cd'), undefined, 4)).toString(), 'abcd');
    await assert.rejects(readBody(stream('ab', 'cde'), undefined, 4), {
      code: 'unprocessable_entity',
      message: /^too_big: body: .* 4 bytes/,
    });
    await assert.rejects(async () => readBody(stream('a'), '5', 4), { code: 'unprocessable_entity' });
    assert.equal((await readBody(null, undefined, 4)).length, 0);
  });

  test('that is endless is not read to its end', async () => {
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1000;
        controller.enqueue(Buffer.alloc(1000));
      },
    });
    await assert.rejects(readBody(endless, undefined, 10_000), { code: 'unprocessable_entity' });
    assert.ok(sent < 20_000, `${sent}`);
  });
});

test('what the schema makes of a value is what comes out', () => {
  assert.deepEqual(parseInput(QUERY, { search: ' a ' }), { page: 1, search: 'a', sort: 'a' });
});
