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
  /** The settings of a workspace, which all of its links carry. */
  forgetWorkspace(workspaceId: string): void;
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
  const links = createShelf<VisitLink, PackedLink>({
    max: maxLinks,
    maxAbsent,
    load: (slot) => loadLink(slot),
    pack: packer.pack,
  });
  const domains = createShelf<SnapshotDomain, SnapshotDomain>({
    max: maxDomains,
    maxAbsent,
    load: (slot) => loadDomain(slot.key),
    pack: (domain) => domain,
  });
  const loadDomain = batchPerTurn((slugs: string[]) => numbered(slugs));
  const loadLink = createLinkLoader(source);
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
    domain(slug) {
      const kept = domains.find(slug);
      return kept === undefined ? domains.load(slug, { domain: undefined, key: slug }) : kept;
    },
    link(domain, lookupKey) {
      const name = nameOf(domain, lookupKey);
      const kept = links.find(name);
      if (kept === null) return null;
      const link = kept === undefined ? undefined : packer.unpack(kept, domain, lookupKey);
      return link ?? links.load(name, { domain, key: lookupKey });
    },
    forgetLink(slug, key) {
      const domain = domains.peek(slug);
      if (!domain) return;
      links.forget(nameOf(domain, key));
      links.forget(nameOf(domain, key.toLowerCase()));
    },
    forgetDomain: domains.forget,
    forgetWorkspace(workspaceId) {
      packer.forgetWorkspace(workspaceId);
      links.forgetLoads();
    },
    forgetAll() {
      domains.forgetAll();
      links.forgetAll();
      packer.forgetWorkspaces();
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
function createLinkLoader(source: SnapshotSource) {
  return batchPerTurn(async (slots: Slot[]) => {
    const byDomain = Map.groupBy(slots, (slot) => slot.domain as SnapshotDomain);
    const loaded = new Map<Slot, VisitLink>();
    await Promise.all(
      [...byDomain].map(async ([domain, group]) => {
        const found = await source.loadLinks(domain, [...new Set(group.map((slot) => slot.key))]);
        for (const slot of group) {
          const link = found.get(slot.key);
          if (link) loaded.set(slot, link);
        }
      }),
    );
    return loaded;
  });
}

const ABSENT = Symbol('absent');

interface ShelfOptions<T, P> {
  readonly max: number;
  readonly maxAbsent: number;
  readonly load: (slot: Slot) => Promise<T | undefined>;
  /** The form in which a value is kept; not called for what a change overtook. */
  readonly pack: (value: T) => P;
}

/** Values by name with a bound; remembers also what is not there. */
function createShelf<T extends NonNullable<unknown>, P extends NonNullable<unknown>>({
  max,
  maxAbsent,
  load,
  pack,
}: ShelfOptions<T, P>) {
  const kept: BoundedMap<string, P> = createBoundedMap(max);
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
          else kept.set(name, pack(value));
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
    /** Null when it is known not to be there; undefined when nothing is known. */
    find(name: string): P | null | undefined {
      const value = kept.get(name);
      if (value === undefined && !absent.get(name)) return undefined;
      hits += 1;
      return value ?? null;
    },
    load: (name: string, slot: Slot): Promise<T | null> => loading.get(name) ?? fetch(name, slot),
    peek: (name: string): P | undefined => kept.get(name),
    forget(name: string): void {
      loading.delete(name);
      kept.delete(name);
      absent.delete(name);
    },
    /** What is being read now may be old: it is not kept. */
    forgetLoads: () => loading.clear(),
    forgetAll(): void {
      loading.clear();
      kept.clear();
      absent.clear();
    },
    size: () => kept.size,
    stats: () => ({ hits, misses }),
  };
}
