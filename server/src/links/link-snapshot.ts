// Links and domains in memory, for visits. Bounded; loads what is missing on demand, the misses of one
// event-loop turn in one query; every change drops its entry, so that the next visit reads the new state.
import { LRUCache } from 'lru-cache';
import { batchPerTurn } from '../kernel/batch.ts';
import type { VisitDomain, VisitLink } from './visit-link.ts';

export interface SnapshotSource {
  /** By `slug/lookup key`; what does not exist is left out. */
  loadLinks(slots: readonly string[]): Promise<Map<string, VisitLink>>;
  loadDomains(slugs: readonly string[]): Promise<Map<string, VisitDomain>>;
}

export interface LinkSnapshot {
  /** The link, or null when there is none; a promise only when it has to be loaded. */
  link(slug: string, lookupKey: string): VisitLink | null | Promise<VisitLink | null>;
  domain(slug: string): VisitDomain | null | Promise<VisitDomain | null>;
  forgetLink(slug: string, lookupKey: string): void;
  /** A domain and everything on it. */
  forgetDomain(slug: string): void;
  forgetAll(): void;
  stats(): { links: number; hits: number; misses: number };
}

export interface SnapshotOptions {
  readonly source: SnapshotSource;
  readonly maxLinks: number;
  readonly maxDomains?: number;
}

const NOTHING = Symbol('nothing');
type Kept<T> = T | typeof NOTHING;

export function createLinkSnapshot({ source, maxLinks, maxDomains = 10_000 }: SnapshotOptions): LinkSnapshot {
  const links = createShelf<VisitLink>(maxLinks, source.loadLinks);
  const domains = createShelf<VisitDomain>(maxDomains, source.loadDomains);
  return {
    link: (slug, lookupKey) => links.get(`${slug}/${lookupKey}`),
    domain: domains.get,
    forgetLink: (slug, lookupKey) => links.forget(`${slug}/${lookupKey}`),
    forgetDomain(slug) {
      domains.forget(slug);
      links.forgetAll();
    },
    forgetAll() {
      domains.forgetAll();
      links.forgetAll();
    },
    stats: () => links.stats(),
  };
}

/** Values by name with a bound; remembers also what is not there. */
function createShelf<T extends object>(max: number, load: (names: readonly string[]) => Promise<Map<string, T>>) {
  const kept = new LRUCache<string, Kept<T>>({ max });
  const loadSoon = batchPerTurn((names: string[]) => load(names));
  /** Counts changes: what was loaded before one must not be kept after it. */
  let generation = 0;
  const changed = new LRUCache<string, number>({ max: 10_000 });
  let hits = 0;
  let misses = 0;

  async function fetch(name: string): Promise<T | null> {
    const started = generation;
    const value = (await loadSoon(name)) ?? null;
    if ((changed.get(name) ?? 0) <= started && lastSweep <= started) kept.set(name, value ?? NOTHING);
    return value;
  }

  let lastSweep = 0;
  return {
    get(name: string): T | null | Promise<T | null> {
      const value = kept.get(name);
      if (value === undefined) {
        misses += 1;
        return fetch(name);
      }
      hits += 1;
      return value === NOTHING ? null : (value as T);
    },
    forget(name: string): void {
      generation += 1;
      changed.set(name, generation);
      kept.delete(name);
    },
    forgetAll(): void {
      generation += 1;
      lastSweep = generation;
      kept.clear();
    },
    stats: () => ({ links: kept.size, hits, misses }),
  };
}
