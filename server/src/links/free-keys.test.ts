import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LinkDomain } from '../domains/domain.ts';
import { findFreeKeys } from './free-keys.ts';
import { lookupKey } from './link-key.ts';

const DOMAIN: LinkDomain = { slug: 'go.acme.example', shared: false, caseSensitive: false };
const LETTERS = '0123456789abcdefghijklmnopqrstuvwxyz';

const seeker = (length = 3, prefix?: string) => ({ domain: DOMAIN, length, prefix });

/** Every key of three characters, but for these. */
function allBut(free: ReadonlySet<string>) {
  return async (_domain: LinkDomain, lookupKeys: readonly string[]) =>
    new Set(lookupKeys.filter((key) => !free.has(key)));
}

describe('free random keys', () => {
  test('one of the last free keys of a domain is found', async () => {
    const free = new Set(
      Array.from({ length: 460 }, (_, i) => `${LETTERS[i % 36]}${LETTERS[(i * 7) % 36]}${LETTERS[i % 13]}`),
    );
    const one = seeker();
    const key = (await findFreeKeys({ takenKeys: allBut(free) }, [one], new Set())).get(one);
    assert.ok(key && free.has(lookupKey(key, DOMAIN)), `${key} of ${free.size} free keys`);
  });

  test('on a full domain nothing is found, after a bounded number of questions', async () => {
    let questions = 0;
    const takenKeys = async (_domain: LinkDomain, lookupKeys: readonly string[]) => {
      questions += 1;
      assert.ok(lookupKeys.length <= 10_000);
      return new Set(lookupKeys);
    };
    const seekers = Array.from({ length: 100 }, () => seeker());
    assert.equal((await findFreeKeys({ takenKeys }, seekers, new Set())).size, 0);
    assert.ok(questions <= 5, String(questions));
  });

  test('no two seekers get the same key, and none gets a claimed one', async () => {
    const free = new Set(
      [...LETTERS].flatMap((last) => [...LETTERS].slice(0, 10).map((digit) => `a${digit}${last}`)),
    );
    const before = [...free].slice(0, 20);
    const claimed = new Set(before.map((key) => `go.acme.example/${key}`));
    // Few enough that can be had for some of the seekers to hit on the same one.
    const found = await findFreeKeys(
      { takenKeys: allBut(free) },
      Array.from({ length: 50 }, () => seeker()),
      claimed,
    );
    const keys = [...found.values()].map((key) => lookupKey(key, DOMAIN));
    assert.ok(keys.length > 10, String(keys.length));
    assert.equal(new Set(keys).size, keys.length);
    for (const key of keys) assert.ok(free.has(key) && !before.includes(key), key);
    assert.equal(claimed.size, before.length + keys.length);
  });

  test('each gets the length and the prefix it asked for', async () => {
    const seekers = [seeker(7), seeker(4, 'a/b')];
    const found = await findFreeKeys({ takenKeys: async () => new Set() }, seekers, new Set());
    assert.match(found.get(seekers[0] as (typeof seekers)[0]) as string, /^\w{7}$/);
    assert.match(found.get(seekers[1] as (typeof seekers)[0]) as string, /^a\/b\/\w{4}$/);
  });
});
