import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { AppError, ERROR_STATUS, type ErrorCode } from '../kernel/errors.ts';
import { docUrl, dotted, problem, refusalAnswer, validationError } from './problem.ts';

const SCHEMA = z.object({
  name: z.string().trim().min(2).max(5).optional(),
  count: z.int().min(1).max(10).optional(),
  ratio: z.number().optional(),
  on: z.boolean().optional(),
  color: z.enum(['red', 'blue']).optional(),
  one: z.literal(1).optional(),
  list: z
    .array(z.object({ id: z.string(), n: z.int().optional() }))
    .max(2)
    .optional(),
  when: z.iso.datetime().nullish(),
  address: z.url().optional(),
  either: z.union([z.string().max(3), z.array(z.string().max(3)).max(2)]).optional(),
  shape: z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('a'), a: z.string() }),
      z.object({ type: z.literal('b'), b: z.number() }),
    ])
    .optional(),
  must: z.string().default('x'),
});

function classify(schema: z.ZodType, value: unknown): { status: number; message: string } {
  const result = schema.safeParse(value);
  assert.ok(!result.success, 'the value is valid');
  const error = validationError(result.error, value);
  return { status: error.status, message: error.message };
}

describe('what is absent or of another JSON type is 400, what is not allowed is 422', () => {
  for (const [value, status, start] of [
    [{ name: 5 }, 400, 'invalid_type: name: '],
    [{ name: null }, 400, 'invalid_type: name: '],
    [{ name: ['ab'] }, 400, 'invalid_type: name: '],
    [{ name: 'a' }, 422, 'too_small: name: '],
    [{ name: ' a ' }, 422, 'too_small: name: '],
    [{ name: 'abcdef' }, 422, 'too_big: name: '],
    [{ count: '3' }, 400, 'invalid_type: count: '],
    [{ count: 1.5 }, 422, 'invalid_type: count: '],
    [{ count: 0 }, 422, 'too_small: count: '],
    [{ count: 11 }, 422, 'too_big: count: '],
    [{ count: 2 ** 60 }, 422, 'too_big: count: '],
    [{ count: Number.POSITIVE_INFINITY }, 422, 'invalid_type: count: '],
    [{ ratio: Number.NEGATIVE_INFINITY }, 422, 'invalid_type: ratio: '],
    [{ on: 'true' }, 400, 'invalid_type: on: '],
    [{ color: 'green' }, 422, 'invalid_value: color: '],
    [{ color: 5 }, 400, 'invalid_value: color: '],
    [{ color: null }, 400, 'invalid_value: color: '],
    [{ one: 2 }, 422, 'invalid_value: one: '],
    [{ one: '1' }, 400, 'invalid_value: one: '],
    [{ list: {} }, 400, 'invalid_type: list: '],
    [{ list: [{ id: 'a' }, {}] }, 400, 'invalid_type: list[1].id: '],
    [{ list: [{ id: 'a', n: 1.5 }] }, 422, 'invalid_type: list[0].n: '],
    [{ list: [{ id: 'a' }, { id: 'b' }, { id: 'c' }] }, 422, 'too_big: list: '],
    [{ when: 'yesterday' }, 422, 'invalid_format: when: '],
    [{ when: 5 }, 400, 'invalid_type: when: '],
    [{ address: 'nowhere' }, 422, 'invalid_format: address: '],
    [{ either: 'abcd' }, 422, 'too_big: either: '],
    [{ either: ['a', 'b', 'c'] }, 422, 'too_big: either: '],
    [{ either: ['abcd'] }, 422, 'too_big: either[0]: '],
    [{ either: 5 }, 400, 'invalid_union: either: '],
    [{ either: null }, 400, 'invalid_union: either: '],
    [{ shape: { type: 'c' } }, 422, 'invalid_union: shape.type: '],
    [{ shape: {} }, 400, 'invalid_union: shape.type: '],
    [{ shape: { type: 7 } }, 400, 'invalid_union: shape.type: '],
    [{ shape: { type: 'a' } }, 400, 'invalid_type: shape.a: '],
    [{ shape: 'a' }, 400, 'invalid_type: shape: '],
    ['text', 400, 'invalid_type: : '],
    [null, 400, 'invalid_type: : '],
    [[], 400, 'invalid_type: : '],
    [{ name: 'a', count: 'x' }, 422, 'too_small: name: '],
  ] as const) {
    test(JSON.stringify(value), () => {
      const got = classify(SCHEMA, value);
      assert.equal(`${got.status} ${got.message.slice(0, start.length)}`, `${status} ${start}`);
      assert.ok(got.message.length > start.length);
    });
  }

  test('a rule over the whole is 422 with an empty path', () => {
    const schema = z
      .object({ a: z.number(), b: z.number() })
      .refine(({ a, b }) => a < b, 'a must be below b');
    assert.deepEqual(classify(schema, { a: 2, b: 1 }), {
      status: 422,
      message: 'custom: : a must be below b',
    });
  });

  test('unknown keys of a strict object are 422', () => {
    const { status, message } = classify(z.strictObject({}), { x: 1 });
    assert.equal(status, 422);
    assert.match(message, /^unrecognized_keys: : /);
  });
});

describe('the envelope', () => {
  test('has code, message and an address with the code fully hyphenated', () => {
    assert.deepEqual(
      problem(
        new AppError('rate_limit_exceeded', 'Slow down', { cause: new Error('inner') }),
        'https://a.example',
      ),
      {
        error: {
          code: 'rate_limit_exceeded',
          message: 'Slow down',
          doc_url: 'https://a.example/api/errors#rate-limit-exceeded',
        },
      },
    );
    assert.equal(docUrl('internal_server_error', ''), '/api/errors#internal-server-error');
  });

  test('does not grow with what was sent, and cuts no character in half', () => {
    const { message } = problem(new AppError('not_found', '😀'.repeat(10_000)), '').error;
    assert.ok(message.length <= 1_001);
    assert.ok(message.isWellFormed() && message.endsWith('…'));
  });

  test('is kept for repeats of a refusal and not of a fault', () => {
    for (const code of Object.keys(ERROR_STATUS) as ErrorCode[]) {
      const kept = refusalAnswer(new AppError(code, 'x'), 'https://a.example');
      assert.equal(kept?.status, code === 'internal_server_error' ? undefined : ERROR_STATUS[code]);
    }
    assert.equal(refusalAnswer(new Error('x'), ''), undefined);
  });
});

test('paths are dotted, with numbers in brackets', () => {
  assert.equal(dotted(['partner', 'links', 0, 'url']), 'partner.links[0].url');
  assert.equal(dotted([1, 'a']), '[1].a');
  assert.equal(dotted([]), '');
});
