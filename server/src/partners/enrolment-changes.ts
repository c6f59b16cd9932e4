// Changes of a partner's place in the program: banned and back, deactivated and back, archived, moved to another
// group, gone. What each does to links is carried out in small steps; money and codes follow as effects.
import { createCleanup } from '../db/cleanup.ts';
import { announce, type Database, isUniqueViolation } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import type { LinksOfPartners } from '../links/links-of-partners.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import type { DefaultLinks } from './default-links.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import { type EffectList, runEffects } from './enrolment-effects.ts';
import { type EnrolmentEvent, isActive, stateAfter } from './enrolment-states.ts';
import type { Enrolments } from './enrolments.ts';
import type { GroupStore } from './group.store.ts';
import { NO_REWARDS, type PartnerGroup, rewardsOf } from './group.ts';
import { type BanReason, type Enrolment, tenantTaken } from './partner.ts';
import { type Program, programActor } from './program.ts';

export interface EnrolmentChangesParts {
  readonly db: Database;
  readonly store: EnrolmentStore;
  readonly groups: GroupStore;
  readonly enrolments: Enrolments;
  readonly defaultLinks: DefaultLinks;
  readonly cascade: LinksOfPartners;
  readonly effects: EffectList;
  readonly workspaces: Pick<Workspaces, 'get'>;
  readonly clock: Clock;
}

export function createEnrolmentChanges(parts: EnrolmentChangesParts) {
  const { db, store, groups, enrolments, effects, cascade, clock } = parts;
  const linkSteps = createCleanup({ db, kind: 'partner-links', step: stepLinks });

  /** Brings links closer to what the partner's state asks for; the state is looked up, so that the last change wins. */
  async function stepLinks(workspaceId: string, target: string, limit: number): Promise<number> {
    const [programId = '', partnerId = ''] = target.split('/');
    const partner = { programId, partnerId };
    const enrolment = await store.findByPartner(programId, partnerId);
    if (!enrolment) return cascade.deleteSome(workspaceId, partner, limit);
    const { status, linksStoppedAt } = enrolment;
    if (linksStoppedAt === null) return 0;
    if (status === 'banned') return cascade.stopSome(partner, 'disable', linksStoppedAt, limit);
    if (status === 'deactivated') return cascade.stopSome(partner, 'expire', linksStoppedAt, limit);
    return cascade.resumeSome(partner, linksStoppedAt, limit);
  }

  const targetOf = ({ programId, partnerId }: Enrolment) => `${programId}/${partnerId}`;

  /** Links that are still being resumed keep their mark: with another they would stay stopped for ever. */
  async function stopMark(enrolment: Enrolment, nowMs: number): Promise<number> {
    const kept = enrolment.linksStoppedAt;
    return kept !== null && (await linkSteps.pending(targetOf(enrolment))) ? kept : nowMs;
  }

  async function apply(enrolment: Enrolment, change: Partial<Enrolment>): Promise<Enrolment> {
    const nowMs = clock.now();
    // Nothing else of an enrolment that changes is one of a kind.
    await store.update(enrolment.id, { ...change, updatedAt: nowMs }).catch((error) => {
      throw isUniqueViolation(error) ? tenantTaken(error) : error;
    });
    const { workspaceId, programId, partnerId } = enrolment;
    announce(db.query, [{ workspaceId, type: 'partner.changed', payload: { programId, partnerId } }]);
    return { ...enrolment, ...change, updatedAt: nowMs };
  }

  /** Links of the changed enrolment follow: some now, the rest by the job. */
  async function followUp(enrolment: Enrolment): Promise<void> {
    const target = targetOf(enrolment);
    if (await linkSteps.pending(target)) return;
    await linkSteps.begin(enrolment.workspaceId, target, clock.now());
  }

  /** Brings the links that stand for default links in line with what the group has. */
  async function alignLinks(program: Program, group: PartnerGroup, enrolment: Enrolment): Promise<void> {
    const actor = programActor(await parts.workspaces.get(program.workspaceId));
    const [person] = await enrolments.withPeople([enrolment]);
    if (person) await parts.defaultLinks.follow({ actor, program, group, ...person });
  }

  /** From banned or deactivated back to work; the group, and its default links, may be others than before. */
  async function restore(
    program: Program,
    enrolment: Enrolment,
    event: 'unban' | 'reactivate',
  ): Promise<Enrolment> {
    const status = stateAfter(enrolment.status, event);
    const group = enrolment.groupId === null ? undefined : await groups.find(enrolment.groupId);
    const rewards = group ? rewardsOf(group) : NO_REWARDS;
    const restored = await apply(enrolment, { status, ...rewards, bannedAt: null, bannedReason: null });
    await followUp(restored);
    if (group) await alignLinks(program, group, restored);
    await runEffects(effects, event === 'unban' ? 'onUnban' : 'onReactivate', restored);
    return restored;
  }

  return {
    async ban(enrolment: Enrolment, reason: BanReason): Promise<Enrolment> {
      const status = stateAfter(enrolment.status, 'ban');
      const nowMs = clock.now();
      const linksStoppedAt = await stopMark(enrolment, nowMs);
      const banned = await apply(enrolment, {
        status,
        ...NO_REWARDS,
        bannedAt: nowMs,
        bannedReason: reason,
        linksStoppedAt,
      });
      await followUp(banned);
      await runEffects(effects, 'onBan', banned);
      return banned;
    },

    async deactivate(enrolment: Enrolment): Promise<Enrolment> {
      const status = stateAfter(enrolment.status, 'deactivate');
      const linksStoppedAt = await stopMark(enrolment, clock.now());
      const deactivated = await apply(enrolment, { status, ...NO_REWARDS, linksStoppedAt });
      await followUp(deactivated);
      await runEffects(effects, 'onDeactivate', deactivated);
      return deactivated;
    },

    restore,

    /** For changes that are nothing but a change of state. */
    async change(
      enrolment: Enrolment,
      event: Extract<EnrolmentEvent, 'archive' | 'unarchive' | 'decline' | 'invite' | 'reapply' | 'reject'>,
      also: Partial<Enrolment> = {},
    ): Promise<Enrolment> {
      return apply(enrolment, { ...also, status: stateAfter(enrolment.status, event) });
    },

    update: apply,

    /** The enrolment is gone at once, its links after a while; what was earned stays on record. */
    async delete(enrolment: Enrolment, event: 'delete' | 'dismiss' = 'delete'): Promise<void> {
      stateAfter(enrolment.status, event);
      await runEffects(effects, 'onDelete', enrolment);
      await store.delete(enrolment.id);
      await followUp(enrolment);
      await enrolments.tellChanged([enrolment], true);
    },

    /** Those that are in the group already are left alone; returns how many came. */
    async move(program: Program, group: PartnerGroup, all: readonly Enrolment[]): Promise<number> {
      const comers = all.filter((enrolment) => enrolment.groupId !== group.id);
      const moved: Enrolment[] = [];
      for (const before of comers) {
        const active = isActive(before.status);
        const after = await apply(before, { groupId: group.id, ...(active && rewardsOf(group)) });
        moved.push(after);
        if (!active) continue;
        await alignLinks(program, group, after);
        for (const effect of effects) await effect.onMove?.(after, before);
      }
      await enrolments.tellChanged(moved);
      return moved.length;
    },

    /** Goes on with links of partners whose state has changed; for a job. */
    followLinks: (signal: AbortSignal): Promise<void> => linkSteps.run(signal),
  };
}

export type EnrolmentChanges = ReturnType<typeof createEnrolmentChanges>;
