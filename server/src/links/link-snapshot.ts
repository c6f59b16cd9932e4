// Links and domains in memory, for visits. Bounded; loads what is missing on demand, the misses of one
// event-loop turn in one call; every change drops its entry, so that the next visit reads the new state.
import { batchPerTurn } from '../kernel/batch.ts';
import { type BoundedMap, createBoundedMap } from '../kernel/bounded-map.ts';
import { createLinkPacker, type PackedLink } from './packed-link.ts';
import type { VisitDomain, VisitLink } from './visit-link.ts';

export interface SnapshotSource {
  /** By lookup key; what does not exist is left out. */
  loadLinks(
    domain: Pick<VisitDomain, 'slug' | 'formerSlug'>,
    lookupKeys: readonly string[],
  ): Promise<ReadonlyMap<string, VisitLink>>;
  loadDomains(slugs: readonly string[]): Promise<Map<string, VisitDomain>>;
}

/** A domain as the snapshot knows it; dropping the domain drops everything that was kept under its number. */
export interface SnapshotDomain extends VisitDomain {
  readonly number: number;
}

export interface LinkSnapshot {
  /** The domain, or null when there is none; a promise only when it has to be loaded. */
  domain(slug: string): SnapshotDomain | null | Promise<SnapshotDomain | null>;
  link(domain: SnapshotDomain, lookupKey: string): VisitLink | null | Promise<VisitLink | null>;
  /** Whatever may be kept for this key, in either case. */
  forgetLink(slug: string, key: string): void;
  /** A domain and everything on it. */
  forgetDomain(slug: string): void;
  forgetAll(): void;
  stats(): SnapshotStats;
}

export interface SnapshotStats {
  readonly links: number;
  readonly domains: number;
  readonly hits: number;
  readonly misses: number;
}

export interface SnapshotOptions {
  readonly source: SnapshotSource;
  readonly maxLinks: number;
  readonly maxDomains?: number;
  /** Keys and hosts without a link are kept apart: a scan through random ones must not push out the others. */
  readonly maxAbsent?: number;
}

export function createLinkSnapshot(options: SnapshotOptions): LinkSnapshot {
  const { source, maxLinks, maxDomains = 10_000, maxAbsent = 20_000 } = options;
  const packer = createLinkPacker();
  const links = createShelf<PackedLink>(maxLinks, maxAbsent, (slot: Slot) => loadLink(slot));
  const domains = createShelf<SnapshotDomain>(maxDomains, maxAbsent, (slot: Slot) => loadDomain(slot.key));
  const loadDomain = batchPerTurn((slugs: string[]) => numbered(slugs));
  const loadLink = createLinkLoader(source, packer.pack);
  let lastNumber = 0;

  async function numbered(slugs: string[]): Promise<Map<string, SnapshotDomain>> {
    const loaded = new Map<string, SnapshotDomain>();
    for (const [slug, domain] of await source.loadDomains(slugs)) {
      lastNumber += 1;
      loaded.set(slug, { ...domain, number: lastNumber });
    }
    return loaded;
  }

  return {
    domain: (slug) => domains.get(slug, { domain: undefined, key: slug }),
    link(domain, lookupKey) {
      const kept = links.get(nameOf(domain, lookupKey), { domain, key: lookupKey });
      if (kept === null) return null;
      if (kept instanceof Promise)
        return kept.then((late) => (late === null ? null : packer.unpack(late, domain, lookupKey)));
      return packer.unpack(kept, domain, lookupKey);
    },
    forgetLink(slug, key) {
      const domain = domains.peek(slug);
      if (!domain) return;
      links.forget(nameOf(domain, key));
      links.forget(nameOf(domain, key.toLowerCase()));
    },
    forgetDomain: domains.forget,
    forgetAll() {
      domains.forgetAll();
      links.forgetAll();
    },
    stats: () => ({ ...links.stats(), links: links.size(), domains: domains.size() }),
  };
}

function nameOf(domain: SnapshotDomain, lookupKey: string): string {
  return `${domain.number}/${lookupKey}`;
}

interface Slot {
  readonly domain: SnapshotDomain | undefined;
  readonly key: string;
}

/** The misses of one turn, in one call per domain. */
function createLinkLoader(source: SnapshotSource, pack: (link: VisitLink) => PackedLink) {
  const load = batchPerTurn(async (slots: Slot[]) => {
    const byDomain = Map.groupBy(slots, (slot) => slot.domain as SnapshotDomain);
    const loaded = new Map<Slot, PackedLink>();
    await Promise.all(
      [...byDomain].map(async ([domain, group]) => {
        const found = await source.loadLinks(domain, [...new Set(group.map((slot) => slot.key))]);
        for (const slot of group) {
          const link = found.get(slot.key);
          if (link) loaded.set(slot, pack(link));
        }
      }),
    );
    return loaded;
  });
  return load;
}

const ABSENT = Symbol('absent');

/** Values by name with a bound; remembers also what is not there. */
function createShelf<T extends NonNullable<unknown>>(
  max: number,
  maxAbsent: number,
  load: (slot: Slot) => Promise<T | undefined>,
) {
  const kept: BoundedMap<string, T> = createBoundedMap(max);
  const absent: BoundedMap<string, typeof ABSENT> = createBoundedMap(maxAbsent);
  /** What is being loaded now. A change takes it off: what was read before the change is not kept. */
  const loading = new Map<string, Promise<T | null>>();
  let hits = 0;
  let misses = 0;

  function fetch(name: string, slot: Slot): Promise<T | null> {
    misses += 1;
    const started = load(slot).then(
      (value) => {
        if (loading.get(name) === started) {
          loading.delete(name);
          if (value === undefined) absent.set(name, ABSENT);
          else kept.set(name, value);
        }
        return value ?? null;
      },
      (error: unknown) => {
        if (loading.get(name) === started) loading.delete(name);
        throw error;
      },
    );
    loading.set(name, started);
    return started;
  }

  return {
    get(name: string, slot: Slot): T | null | Promise<T | null> {
      const value = kept.get(name);
      if (value !== undefined) {
        hits += 1;
        return value;
      }
      if (absent.get(name)) {
        hits += 1;
        return null;
      }
      return loading.get(name) ?? fetch(name, slot);
    },
    peek: (name: string): T | undefined => kept.get(name),
    forget(name: string): void {
      loading.delete(name);
      kept.delete(name);
      absent.delete(name);
    },
    forgetAll(): void {
      loading.clear();
      kept.clear();
      absent.clear();
    },
    size: () => kept.size,
    stats: () => ({ hits, misses }),
  };
}
