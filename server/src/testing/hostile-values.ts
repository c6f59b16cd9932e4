// Hostile input made from a JSON schema: values at and beyond its bounds, of other types, and of forms that
// parsers trip over. Each says which answer is right where that is known.

export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly format?: string;
}

/** accepted: a success, or a refusal by a rule that the schema cannot say; undefined: any of these. */
export type Expected = 'accepted' | 400 | 422 | undefined;

export interface HostileValue {
  readonly what: string;
  readonly value: unknown;
  readonly expected: Expected;
}

const value = (what: string, value: unknown, expected: Expected): HostileValue => ({ what, value, expected });

/** Values of every wrong JSON type, boundaries, and text that no field may hold. */
export function hostileBodyValues(schema: JsonSchema): HostileValue[] {
  const branches = branchesOf(schema);
  const kinds = new Set(branches.map(({ type }) => type ?? 'any'));
  return [
    ...wrongTypes(kinds),
    ...branches.flatMap(boundaries),
    ...(kinds.has('string') ? hostileText() : []),
  ];
}

type Branch = JsonSchema & { readonly type?: string };

/** What the value may be: one schema per type. */
function branchesOf(schema: JsonSchema): Branch[] {
  if (schema.anyOf) return schema.anyOf.flatMap(branchesOf);
  const { type } = schema;
  return typeof type === 'object' ? type.map((each) => ({ ...schema, type: each })) : [schema as Branch];
}

function wrongTypes(kinds: ReadonlySet<string>): HostileValue[] {
  const samples: [string, string, unknown][] = [
    ['string', 'a string', 'text'],
    ['number', 'a number', 7],
    ['boolean', 'a boolean', true],
    ['null', 'null', null],
    ['array', 'an array', ['text']],
    ['object', 'an object', { a: 1 }],
    ['array', 'an empty array', []],
    ['object', 'an empty object', {}],
  ];
  const fits = (kind: string) =>
    kinds.has(kind) || kinds.has('any') || (kind === 'number' && kinds.has('integer'));
  return samples.filter(([kind]) => !fits(kind)).map(([, what, sample]) => value(what, sample, 400));
}

function boundaries(schema: Branch): HostileValue[] {
  if (schema.enum)
    return [...schema.enum.map((item) => value(`${item}`, item, 'accepted')), ...enumMisses(schema)];
  switch (schema.type) {
    case 'string':
      return lengths(schema);
    case 'integer':
    case 'number':
      return numbers(schema);
    case 'array':
      return arrays(schema);
    case 'object':
      return [];
    default:
      return [];
  }
}

function enumMisses({ enum: names = [] }: JsonSchema): HostileValue[] {
  if (typeof names[0] !== 'string') return [];
  return ['', 'no such name', `${names[0]} `, names[0].toUpperCase(), 'constructor', 'toString'].map((miss) =>
    value(`"${miss}"`, miss, 422),
  );
}

function lengths({ minLength = 0, maxLength, pattern, format }: JsonSchema): HostileValue[] {
  const free = pattern === undefined && format === undefined;
  const values = [
    value('empty text', '', minLength > 0 ? 422 : undefined),
    value('spaces', '   ', undefined),
  ];
  if (minLength > 0) values.push(value('shortest text', 'a'.repeat(minLength), undefined));
  if (maxLength !== undefined) {
    values.push(value('longest text', 'b'.repeat(maxLength), undefined));
    values.push(value('text one too long', 'c'.repeat(maxLength + 1), 422));
  }
  if (!free) values.push(value('text of another form', 'no such form ✗', 422));
  return [
    ...values,
    value('40,000 characters', 'd'.repeat(40_000), maxLength === undefined ? undefined : 422),
  ];
}

function numbers({ type, minimum, maximum }: JsonSchema): HostileValue[] {
  const values = [
    value('1e309', Number.POSITIVE_INFINITY, 422),
    value('-1e309', Number.NEGATIVE_INFINITY, 422),
  ];
  if (type === 'integer')
    values.push(value('1.5', 1.5, 422), value('2^53', 2 ** 53, 422), value('1e300', 1e300, 422));
  if (minimum !== undefined)
    values.push(value('minimum', minimum, 'accepted'), value('below', minimum - 1, 422));
  if (maximum !== undefined)
    values.push(value('maximum', maximum, 'accepted'), value('above', maximum + 1, 422));
  return values;
}

function arrays({ items = {}, maxItems }: JsonSchema): HostileValue[] {
  const inner = hostileBodyValues(items).map(({ what, value: item, expected }) =>
    value(`a list with ${what}`, [item], expected === 'accepted' ? undefined : expected),
  );
  const tooMany = Array.from({ length: (maxItems ?? 0) + 1 }, (_, i) => `item${i}.example.com`);
  return maxItems === undefined ? inner : [...inner, value('one item too many', tooMany, 422)];
}

function hostileText(): HostileValue[] {
  return [
    value('NUL', 'a\0b', 422),
    value('half a surrogate pair', 'a\ud800b', 422),
    value('the other half', '\udc00', 422),
    value('control characters', 'a\u0001\u001f\u007fb', undefined),
    value('right-to-left override', 'a\u202eb', undefined),
    value('SQL', `'); drop table tag; --`, undefined),
    value('pattern characters', '%_\\%', undefined),
    value('markup', '<script>alert(1)</script>', undefined),
    value('a template', '{{7*7}}#{7*7}', undefined),
    value('__proto__', '__proto__', undefined),
    value('emoji', '👩‍👩‍👧‍👦', undefined),
  ];
}

/** What a query parameter can be given, as text. */
export function hostileQueryValues(schema: JsonSchema): HostileValue[] {
  const text: HostileValue[] = [
    value('%00', '%00', 422),
    value('invalid UTF-8', '%ff%fe', undefined),
    value('half an escape', '%', undefined),
    value('a quote', "'", undefined),
    value('100,000 characters', 'x'.repeat(100_000), undefined),
  ];
  if (schema.enum) {
    return [
      ...schema.enum.map((name) => value(`${name}`, name, 'accepted')),
      value('another name', 'nope', 422),
      value('empty', '', 422),
      ...text,
    ];
  }
  if (schema.type === 'integer' || schema.type === 'number')
    return [...queryNumbers(schema), ...text.slice(1).map((item) => ({ ...item, expected: 400 as const }))];
  if (schema.type === 'boolean') {
    return [
      value('true', 'true', 'accepted'),
      value('false', 'false', 'accepted'),
      value('yes', 'yes', 400),
      value('1', '1', 400),
      value('empty', '', 400),
    ];
  }
  if (schema.type === 'array') return [...queryLists(schema), ...text];
  return [...queryTexts(schema), ...text];
}

function queryNumbers(schema: JsonSchema): HostileValue[] {
  const given = numbers(schema).map(({ what, value: number, expected }) =>
    value(what, encodeURIComponent(Number.isFinite(number) ? String(number) : what), expected),
  );
  const noNumbers = ['abc', '', '0x10', '1,5', 'NaN', 'Infinity', '1e', 'null', '[]'];
  return [...given, ...noNumbers.map((text) => value(`"${text}"`, encodeURIComponent(text), 400))];
}

function queryLists({ maxItems, items }: JsonSchema): HostileValue[] {
  const many = Array.from({ length: (maxItems ?? 1000) + 1 }, (_, i) => `id${i}`).join(',');
  return [
    value('one', 'a', items?.enum ? 422 : 'accepted'),
    value('commas only', ',,,', 'accepted'),
    value('too many', many, maxItems === undefined ? undefined : 422),
  ];
}

function queryTexts({ maxLength, minLength = 0 }: JsonSchema): HostileValue[] {
  return [
    value('empty', '', minLength > 0 ? 422 : undefined),
    value('pattern characters', '%25_%5C', undefined),
    ...(maxLength === undefined
      ? []
      : [
          value('longest', 'q'.repeat(maxLength), undefined),
          value('too long', 'q'.repeat(maxLength + 1), 422),
        ]),
  ];
}

/** Whole bodies that are no JSON, or JSON that is no body. */
export function hostileBodies(): {
  what: string;
  body: string | Uint8Array;
  expected: Expected;
  headers?: Record<string, string>;
}[] {
  const bytes = (...parts: (string | number[])[]) =>
    Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  return [
    { what: 'an empty body', body: '', expected: 400 },
    { what: 'spaces', body: '  \n', expected: 400 },
    { what: 'truncated JSON', body: '{"name":"a', expected: 400 },
    { what: 'a stray comma', body: '{"name":"a",}', expected: 400 },
    { what: 'two values', body: '{}{}', expected: 400 },
    { what: 'a bare word', body: 'undefined', expected: 400 },
    { what: 'NaN', body: '{"name":NaN}', expected: 400 },
    {
      what: 'a form',
      body: 'name=a',
      expected: 400,
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    },
    { what: 'invalid UTF-8', body: bytes('{"name":"', [0xff, 0xfe], '"}'), expected: 400 },
    { what: 'overlong UTF-8', body: bytes('{"name":"', [0xc0, 0xaf], '"}'), expected: 400 },
    { what: 'UTF-16', body: Buffer.from('{"name":"a"}', 'utf16le'), expected: 400 },
    {
      what: 'gzip',
      body: bytes([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]),
      expected: 400,
      headers: { 'Content-Encoding': 'gzip' },
    },
    { what: 'a NUL byte', body: bytes('{"name":"', [0], '"}'), expected: 400 },
    { what: 'an array', body: '[]', expected: 400 },
    { what: 'a string', body: '"name"', expected: 400 },
    { what: 'a number', body: '1e309', expected: 400 },
    { what: 'null', body: 'null', expected: 400 },
    {
      what: '100,000 arrays in each other',
      body: `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
      expected: 422,
    },
    {
      what: '100,000 objects in each other',
      body: `${'{"name":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
      expected: 422,
    },
    { what: '100,000 open brackets', body: '['.repeat(100_000), expected: 400 },
    { what: '__proto__', body: '{"__proto__":{"isAdmin":true},"name":"a"}', expected: 422 },
    { what: '__proto__ further down', body: '{"x":{"__proto__":null}}', expected: 422 },
    { what: 'constructor', body: '{"constructor":{"prototype":{"isAdmin":true}}}', expected: undefined },
    { what: 'a name with NUL', body: '{"a\\u0000b":1}', expected: 422 },
    { what: 'half a surrogate pair as a name', body: '{"\\ud800":1}', expected: 422 },
    { what: '10 MB', body: Buffer.alloc(10_000_000, 0x20), expected: 422 },
    { what: '10 MB of JSON', body: `{"name":"${'a'.repeat(10_000_000)}"}`, expected: 422 },
    {
      what: '200,000 names',
      body: `{${Array.from({ length: 100_000 }, (_, i) => `"k${i}":${i}`).join()}}`,
      expected: undefined,
    },
    { what: '500,000 items', body: `[${'1,'.repeat(500_000)}1]`, expected: 400 },
  ];
}

/** The same values for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Any JSON value, a few levels deep, with names that the given fields know and others. */
export function randomJson(random: () => number, names: readonly string[], depth = 0): unknown {
  const choose = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const kind = choose(
    depth > 2 ? ['text', 'number', 'other'] : ['text', 'number', 'other', 'list', 'object', 'object'],
  );
  const count = Math.floor(random() * 4);
  switch (kind) {
    case 'text':
      return Array.from({ length: count * 3 }, () =>
        String.fromCodePoint(Math.floor(random() * 0xd7ff)),
      ).join('');
    case 'number':
      return choose([0, -1, 1.5, 1e21, 2 ** 31, -(2 ** 63), random()]);
    case 'list':
      return Array.from({ length: count }, () => randomJson(random, names, depth + 1));
    case 'object': {
      const keys = Array.from({ length: count }, () => choose([...names, 'constructor', 'toString', '']));
      return Object.fromEntries(keys.map((key) => [key, randomJson(random, names, depth + 1)]));
    }
    default:
      return choose([null, true, false, '']);
  }
}
