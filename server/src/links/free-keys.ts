// Random keys that nobody has yet. A key that somebody takes meanwhile shows up when the link is inserted.
import type { LinkDomain } from '../domains/domain.ts';
import { keySlot, lookupKey, randomKey } from './link-key.ts';

/** Somebody who wants a random key. */
export interface KeySeeker {
  readonly domain: LinkDomain;
  readonly length: number;
  readonly prefix: string | undefined;
}

export interface FreeKeysParts {
  /** Which of these keys of a domain are in use. */
  takenKeys(domain: LinkDomain, lookupKeys: readonly string[]): Promise<Set<string>>;
}

/** Tries per seeker, round by round: enough to find one of the last keys of a domain that is almost full. */
const TRIES = [1, 8, 64, 512, 4096];
/** Few enough that a statement stays below the engines' limits on parameters. */
const TRIES_PER_QUERY = 8_000;

interface Try<S> {
  readonly seeker: S;
  readonly key: string;
  readonly slot: string;
}

/**
 * A key for each seeker, no two of them the same and none among `claimed`; a seeker without one found
 * none of its length that is free. What is found is claimed.
 */
export async function findFreeKeys<S extends KeySeeker>(
  { takenKeys }: FreeKeysParts,
  seekers: readonly S[],
  claimed: Set<string>,
): Promise<Map<S, string>> {
  const found = new Map<S, string>();
  for (const tries of TRIES) {
    const open = seekers.filter((seeker) => !found.has(seeker));
    if (open.length === 0) break;
    const each = Math.min(tries, Math.floor(TRIES_PER_QUERY / open.length));
    const all = open.flatMap((seeker) => Array.from({ length: each }, () => tryKey(seeker)));
    const taken = await takenSlots(takenKeys, all);
    for (const { seeker, key, slot } of all) {
      if (found.has(seeker) || taken.has(slot) || claimed.has(slot)) continue;
      found.set(seeker, key);
      claimed.add(slot);
    }
  }
  return found;
}

function tryKey<S extends KeySeeker>(seeker: S): Try<S> {
  const key = randomKey(seeker.length, seeker.prefix);
  return { seeker, key, slot: keySlot(seeker.domain, key) };
}

async function takenSlots(
  takenKeys: FreeKeysParts['takenKeys'],
  tries: readonly Try<KeySeeker>[],
): Promise<Set<string>> {
  const wanted = tries.map(({ seeker, key }) => ({ domain: seeker.domain, key }));
  const slots = new Set<string>();
  for (const { domain, lookupKeys } of keysByDomain(wanted)) {
    for (const key of await takenKeys(domain, lookupKeys)) slots.add(`${domain.slug}/${key}`);
  }
  return slots;
}

/** The keys that each domain has to be asked for. */
export function keysByDomain(wanted: readonly { domain: LinkDomain; key: string }[]) {
  const bySlug = new Map<string, { domain: LinkDomain; lookupKeys: string[] }>();
  for (const { domain, key } of wanted) {
    const asked = bySlug.get(domain.slug) ?? { domain, lookupKeys: [] };
    asked.lookupKeys.push(lookupKey(key, domain));
    bySlug.set(domain.slug, asked);
  }
  return bySlug.values();
}
