// A domain changes its name, and its links follow in steps: the first in the transaction of the change, the rest
// by a job. Until all have followed, links are looked up under both names, and the former one is nobody else's.
import type { Database } from '../db/database.ts';
import { AppError } from '../kernel/errors.ts';
import type { DomainStore } from './domain.store.ts';
import type { Domain } from './domain.ts';

export interface DomainRenameParts {
  readonly db: Database;
  readonly store: Pick<DomainStore, 'find' | 'findRenamed' | 'findRenamedSlugs' | 'update'>;
  /** Moves at most `limit` links from one name to the other; returns how many. */
  readonly moveSome: (workspaceId: string, from: string, to: string, limit: number) => Promise<number>;
  /** Tells of a domain that has changed. */
  readonly tell: (domain: Domain) => Promise<void>;
}

/** Small enough that other writes wait for a step no longer than they notice. */
const LINKS_PER_STEP = 500;
const DOMAINS_PER_LOOK = 100;

export function createDomainRename({ db, store, moveSome, tell }: DomainRenameParts) {
  /** True when all links have followed. Moves or marks, not both: whoever holds a link may wait for its domain. */
  function advance(slug: string): Promise<boolean> {
    return db.write(async () => {
      const domain = await store.find(slug, 'share');
      if (!domain?.formerSlug) return true;
      const moved = await moveSome(domain.workspaceId, domain.formerSlug, domain.slug, LINKS_PER_STEP);
      if (moved > 0) return false;
      const done = { ...domain, formerSlug: null };
      await store.update(done);
      await tell(done);
      return true;
    });
  }

  return {
    /** In the transaction that changed the name of the domain: few links have followed when it ends. */
    async begin(domain: Domain, formerSlug: string): Promise<void> {
      const moved = await moveSome(domain.workspaceId, formerSlug, domain.slug, LINKS_PER_STEP);
      if (moved < LINKS_PER_STEP) await store.update({ ...domain, formerSlug: null });
    },

    /** Refuses what cannot be done before the links have followed. */
    assertDone({ slug, formerSlug }: Domain): void {
      if (formerSlug === null) return;
      throw new AppError(
        'conflict',
        `The links of ${slug} are still following its change of name. Try again soon.`,
      );
    },

    /** True while links are kept under this name that a domain had before. */
    pending: async (slug: string): Promise<boolean> => (await store.findRenamed([slug])).length > 0,

    /** Goes on with all domains whose links are to follow, until there is none or the signal says stop. */
    async run(signal: AbortSignal): Promise<void> {
      for (;;) {
        const slugs = await store.findRenamedSlugs(DOMAINS_PER_LOOK);
        if (slugs.length === 0) return;
        for (const slug of slugs) {
          do {
            if (signal.aborted) return;
          } while (!(await advance(slug)));
        }
      }
    },
  };
}
