// The bounties of a program: made, changed and removed by the seller. Receivers are told in the same transaction.
import type { Database } from '../db/database.ts';
import { appendOutbox } from '../db/outbox.ts';
import type { PageRequest } from '../db/page.ts';
import type { Actor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Ids } from '../kernel/ids.ts';
import { owned } from '../kernel/resource.ts';
import type { BountyStore } from './bounty.store.ts';
import { type Bounty, type BountyTerms, checkTerms } from './bounty.ts';
import type { BountyProgress } from './bounty-progress.ts';
import { presentBounty } from './bounty-wire.ts';
import type { Groups } from './groups.ts';
import type { PartnerTags } from './partner-tags.ts';
import type { Program } from './program.ts';
import type { Programs } from './programs.ts';
import type { SubmissionStore } from './submission.store.ts';

export interface BountiesParts {
  readonly db: Database;
  readonly store: BountyStore;
  readonly submissions: Pick<SubmissionStore, 'hasAnyBeyondDraft'>;
  readonly progress: Pick<BountyProgress, 'openSome'>;
  readonly programs: Programs;
  readonly groups: Pick<Groups, 'findByIds'>;
  readonly tags: Pick<PartnerTags, 'findByIds'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Whom it is meant for. */
interface Audience {
  readonly groupIds?: readonly string[] | undefined;
  readonly tagIds?: readonly string[] | undefined;
}

export type BountyChange = Partial<
  Omit<BountyTerms, 'type' | 'startMode'> & Pick<Bounty, 'groupIds' | 'tagIds'>
>;

/** Whatever happens to a partner looks at all that run. */
const MAX_BOUNTIES = 500;
/** What partners have come to so far was measured by these. */
const FIXED_ONCE_BEGUN = ['startsAt', 'performanceCondition', 'performanceScope'] as const;

export function createBounties(parts: BountiesParts) {
  const { db, store, submissions, progress, programs, groups, tags, clock, ids } = parts;

  async function get(actor: Actor, id: string): Promise<Bounty> {
    return owned(await store.find(id), actor.workspaceId, 'bounty');
  }

  async function assertAudience(program: Program, { groupIds, tagIds }: Audience): Promise<void> {
    const known = {
      groupIds: groupIds?.length ? await groups.findByIds(program.id, groupIds) : new Map(),
      partnerTagIds: tagIds?.length ? await tags.findByIds(program.id, tagIds) : new Map(),
    };
    for (const [field, wanted] of [
      ['groupIds', groupIds],
      ['partnerTagIds', tagIds],
    ] as const) {
      const unknown = wanted?.find((id) => !known[field].has(id));
      if (unknown !== undefined) {
        throw new AppError('not_found', `custom: ${field}: the program has no ${unknown}`);
      }
    }
  }

  async function tell(type: 'bounty.created' | 'bounty.updated', bounty: Bounty): Promise<void> {
    const { id, programId, workspaceId } = bounty;
    const { createdAt: _, updatedAt: __, ...webhook } = presentBounty(bounty);
    await appendOutbox(db.query, [{ workspaceId, type, payload: { id, programId }, webhook }], clock.now());
  }

  return {
    get,

    async list(actor: Actor, page: PageRequest<'createdAt'>): Promise<Bounty[]> {
      return store.list((await programs.getOfWorkspace(actor.workspaceId)).id, page);
    },

    /** One by performance begins at once for the first partners, and by a job for the rest. */
    create(actor: Actor, terms: BountyTerms, audience: Audience): Promise<Bounty> {
      checkTerms(terms);
      return db.write(async () => {
        const program = await programs.getOfWorkspace(actor.workspaceId);
        if ((await store.count(program.id)) >= MAX_BOUNTIES) {
          throw new AppError(
            'forbidden',
            `A program has at most ${MAX_BOUNTIES} bounties. Delete one first.`,
          );
        }
        await assertAudience(program, audience);
        const nowMs = clock.now();
        const bounty: Bounty = {
          ...terms,
          id: ids('bnty_'),
          programId: program.id,
          workspaceId: program.workspaceId,
          groupIds: [...new Set(audience.groupIds)],
          tagIds: [...new Set(audience.tagIds)],
          openedAt: null,
          archivedAt: null,
          createdAt: nowMs,
          updatedAt: nowMs,
        };
        await store.insert(bounty);
        await progress.openSome(bounty, '');
        await tell('bounty.created', bounty);
        return bounty;
      });
    },

    /** What is absent stays; what is there is checked together with it. */
    update(actor: Actor, id: string, wanted: BountyChange): Promise<Bounty> {
      return db.write(async () => {
        const before = await get(actor, id);
        const change = withScope(before, wanted);
        const fixed =
          before.startsAt <= clock.now() && FIXED_ONCE_BEGUN.find((field) => isChange(before, change, field));
        if (fixed)
          throw new AppError('bad_request', `custom: ${fixed}: cannot change once the bounty has begun`);
        const bounty: Bounty = { ...before, ...change, updatedAt: clock.now() } as Bounty;
        checkTerms(bounty);
        await assertAudience(await programs.getOfWorkspace(actor.workspaceId), change);
        // Those whom it is meant for now and was not before are still to be found.
        const reopened = change.groupIds || change.tagIds ? { openedAt: null } : {};
        await store.update(id, { ...change, ...reopened, updatedAt: bounty.updatedAt });
        await tell('bounty.updated', bounty);
        return bounty;
      });
    },

    /** Only while nobody has handed in anything. */
    delete(actor: Actor, id: string): Promise<Bounty> {
      return db.write(async () => {
        const bounty = await get(actor, id);
        if (await submissions.hasAnyBeyondDraft(id)) {
          throw new AppError(
            'bad_request',
            'custom: bountyId: has submissions; end it by setting endsAt or endsAfterDays',
          );
        }
        await store.delete(id);
        return bounty;
      });
    },
  };
}

export type Bounties = ReturnType<typeof createBounties>;

/** One by performance always has a scope. */
function withScope({ type }: Bounty, change: BountyChange): BountyChange {
  const isCleared = type === 'performance' && change.performanceScope === null;
  return isCleared ? { ...change, performanceScope: 'new' } : change;
}

function isChange(before: Bounty, change: BountyChange, field: (typeof FIXED_ONCE_BEGUN)[number]): boolean {
  return field in change && JSON.stringify(before[field]) !== JSON.stringify(change[field]);
}
