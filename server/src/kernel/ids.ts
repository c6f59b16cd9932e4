// Identifiers and secrets. Ids are a prefix and 26 characters of Crockford base32 over 48 bits of time
// and 80 random bits: unique, and in order of creation even when the clock is set back.
import { createHash, createHmac, hash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import type { Clock } from './clock.ts';

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_BITS = 80n;
const RANDOM_END = 1n << RANDOM_BITS;

export type Ids = (prefix: string) => string;

export function createIds(clock: Clock): Ids {
  let lastMs = 0;
  let random = 0n;
  return (prefix) => {
    const now = clock.now();
    if (now > lastMs) {
      lastMs = now;
      random = BigInt(`0x${randomBytes(10).toString('hex')}`);
    } else {
      // Same millisecond, or a clock set back: count up from the last id, so that order holds.
      random += 1n + BigInt(randomInt(1 << 30));
      if (random >= RANDOM_END) {
        lastMs += 1;
        random -= RANDOM_END;
      }
    }
    return prefix + crockford((BigInt(lastMs) << RANDOM_BITS) | random);
  };
}

function crockford(value: bigint): string {
  // Big integers are slow: five letters at a time are taken out of them.
  let text = '';
  for (let rest = value; text.length < 30; rest >>= 25n) {
    let part = Number(rest & 0x1ffffffn);
    for (let i = 0; i < 5; i++) {
      text = CROCKFORD[part & 31] + text;
      part >>= 5;
    }
  }
  return text.slice(4);
}

const POOL_BYTES = 4_096;
let pool = Buffer.alloc(0);

/** Drawn many at once, each handed out once: asking for a few takes as long as asking for thousands. */
function takeRandomBytes(count: number): Buffer {
  if (count > POOL_BYTES) return randomBytes(count);
  if (pool.length < count) pool = randomBytes(POOL_BYTES);
  const taken = pool.subarray(0, count);
  pool = pool.subarray(count);
  return taken;
}

/** Unpredictable text of letters and digits, for secrets and random keys. */
export function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of takeRandomBytes(length * 2)) {
      // 248 is the largest multiple of 62 in a byte: taking more would favour the first letters.
      if (byte < 248 && text.length < length) text += BASE62[byte % 62];
    }
  }
  return text;
}

export function pick<T>(items: readonly T[]): T {
  return items[randomInt(items.length)] as T;
}

/** 32 bits, for hashes that outsiders must not foresee. */
export function randomSeed(): number {
  return randomInt(2 ** 32);
}

/** From 0 up to 1; for choices that nobody gains from guessing. */
export function chance(): number {
  return Math.random();
}

export function sha256Hex(text: string | Uint8Array): string {
  return hash('sha256', text, 'hex');
}

export function hmacSha256Hex(key: string, text: string | Uint8Array): string {
  return createHmac('sha256', key).update(text).digest('hex');
}

export function sameSecret(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
}
