// What was found that looks like fraud, for those who look at it: the rules of the program, findings by partner and
// kind, and their end. With the last open finding about it a held commission goes on its way.
import type { Database } from '../db/database.ts';
import type { PageRequest } from '../db/page.ts';
import type { Actor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Ids } from '../kernel/ids.ts';
import { owned } from '../kernel/resource.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import type { FraudEvent, FraudGroup, FraudGroupFilter, FraudGroupSort, FraudStore } from './fraud.store.ts';
import type { FraudRule, FraudType, RuleConfig } from './fraud-rules.ts';
import { type FraudWatch, rulesOf } from './fraud-watch.ts';
import type { Programs } from './programs.ts';

export interface FraudParts {
  readonly db: Database;
  readonly store: FraudStore;
  readonly watch: FraudWatch;
  readonly programs: Programs;
  readonly enrolmentStore: EnrolmentStore;
  readonly clock: Clock;
  readonly ids: Ids;
}

export interface RuleChange {
  readonly type: FraudType;
  readonly enabled?: boolean | undefined;
  readonly config?: RuleConfig | undefined;
}

const DAY_MS = 86_400_000;
/** Findings that nobody has looked at for so long are over. */
const EXPIRE_AFTER_MS = 30 * DAY_MS;
const EXPIRED_AT_ONCE = 100;
/** Stays until somebody looks at it. */
const NEVER_EXPIRES: FraudType = 'partnerCrossProgramBan';

export function createFraud({ db, store, watch, programs, enrolmentStore, clock, ids }: FraudParts) {
  const programOf = (actor: Actor) => programs.getOfWorkspace(actor.workspaceId);

  async function close(group: FraudGroup, change: Partial<FraudGroup>): Promise<boolean> {
    await enrolmentStore.findByPartner(group.programId, group.partnerId);
    if (!(await store.closeGroup(group.id, { ...change, updatedAt: clock.now() }))) return false;
    await watch.release(group);
    return true;
  }

  return {
    async listRules(actor: Actor): Promise<FraudRule[]> {
      return rulesOf(await store.findRules((await programOf(actor)).id));
    },

    /** Rules that are not named stay as they are. */
    updateRules(actor: Actor, rules: readonly RuleChange[]): Promise<FraudRule[]> {
      return db.write(async () => {
        const { id: programId, workspaceId } = await programOf(actor);
        const before = new Map(rulesOf(await store.findRules(programId)).map((rule) => [rule.type, rule]));
        const nowMs = clock.now();
        for (const { type, enabled, config } of rules) {
          const known = before.get(type) as FraudRule;
          await store.putRule({
            id: ids('frr_'),
            program_id: programId,
            workspace_id: workspaceId,
            type: known.type,
            config: JSON.stringify(config ?? known.config),
            disabled_at: (enabled ?? known.enabled) ? null : nowMs,
            created_at: nowMs,
            updated_at: nowMs,
          });
        }
        return rulesOf(await store.findRules(programId));
      });
    },

    async listGroups(
      actor: Actor,
      filter: FraudGroupFilter,
      page: PageRequest<FraudGroupSort>,
    ): Promise<FraudGroup[]> {
      return store.listGroups((await programOf(actor)).id, filter, page);
    },

    async listEvents(
      actor: Actor,
      filter: Parameters<FraudStore['listEvents']>[1],
      page: PageRequest<'createdAt'>,
    ): Promise<FraudEvent[]> {
      return store.listEvents((await programOf(actor)).id, filter, page);
    },

    async getGroup(actor: Actor, id: string): Promise<FraudGroup> {
      return owned(await store.findGroup(id), actor.workspaceId, 'fraud group');
    },

    /** Somebody has looked; what was held for it alone is pending again. */
    resolve(actor: Actor, id: string, reason: string | null): Promise<FraudGroup> {
      return db.write(async () => {
        const group = owned(await store.findGroup(id), actor.workspaceId, 'fraud group');
        const done = await close(group, {
          status: 'resolved',
          resolvedAt: clock.now(),
          resolutionReason: reason,
          userId: actor.userId,
        });
        if (!done) {
          throw new AppError('bad_request', `custom: status: the group is ${group.status} already`);
        }
        return (await store.findGroup(id)) as FraudGroup;
      });
    },

    /** For a job. */
    async expire(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        const before = clock.now() - EXPIRE_AFTER_MS;
        const stale = await store.findStale(before, NEVER_EXPIRES, EXPIRED_AT_ONCE);
        for (const group of stale) {
          if (signal.aborted) return;
          await db.write(() => close(group, { status: 'expired' }));
        }
        if (stale.length < EXPIRED_AT_ONCE) return;
      }
    },
  };
}

export type Fraud = ReturnType<typeof createFraud>;
