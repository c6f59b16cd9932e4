// Moves partners to the groups whose rules their totals fit. A partner that fits the rules of the group it is in
// stays there, so that rules that overlap do not send it back and forth.
import type { Database } from '../db/database.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import type { EnrolmentChanges } from './enrolment-changes.ts';
import type { EnrolmentListStore } from './enrolment-list.store.ts';
import { isActive } from './enrolment-states.ts';
import type { GroupStore } from './group.store.ts';
import type { MoveRule, PartnerGroup } from './group.ts';
import type { Enrolment } from './partner.ts';
import type { ProgramStore } from './program.store.ts';

export interface GroupMovesParts {
  readonly db: Database;
  readonly programs: ProgramStore;
  readonly groups: GroupStore;
  readonly enrolments: EnrolmentStore;
  readonly lists: Pick<EnrolmentListStore, 'findFitting'>;
  readonly changes: EnrolmentChanges;
}

const GROUPS_PER_LOOK = 100;
const PARTNERS_PER_LOOK = 50;

export function fits(enrolment: Enrolment, rules: readonly MoveRule[]): boolean {
  return rules.every(({ attribute, min, max }) => {
    const total = enrolment[attribute];
    return total >= min && (max === null || total <= max);
  });
}

export function createGroupMoves({ db, programs, groups, enrolments, lists, changes }: GroupMovesParts) {
  /** Looked at again under a lock: somebody may have changed the partner, or its group, meanwhile. */
  async function moveOne(targetId: string, candidate: Enrolment): Promise<void> {
    const enrolment = await enrolments.find(candidate.id);
    const target = await groups.find(targetId);
    const program = target && (await programs.find(target.programId));
    if (!enrolment || !program || !target.moveRules?.length) return;
    if (!isActive(enrolment.status) || enrolment.groupMoveDisabledAt !== null) return;
    if (!fits(enrolment, target.moveRules)) return;
    const present = enrolment.groupId === null ? undefined : await groups.find(enrolment.groupId);
    if (present?.moveRules?.length && fits(enrolment, present.moveRules)) return;
    await changes.move(program, target, [enrolment]);
  }

  async function moveInto(target: PartnerGroup, signal: AbortSignal): Promise<void> {
    for (let after = ''; ; ) {
      const some = await lists.findFitting(target, after, PARTNERS_PER_LOOK);
      for (const enrolment of some) {
        if (signal.aborted) return;
        await db.write(() => moveOne(target.id, enrolment));
      }
      after = some.at(-1)?.id ?? '';
      if (some.length < PARTNERS_PER_LOOK) return;
    }
  }

  return {
    /** For a job. */
    async run(signal: AbortSignal): Promise<void> {
      for (let after = ''; ; ) {
        const some = await groups.findWithMoveRules(after, GROUPS_PER_LOOK);
        for (const group of some) {
          if (signal.aborted) return;
          if (group.moveRules?.length) await moveInto(group, signal);
        }
        after = some.at(-1)?.id ?? '';
        if (some.length < GROUPS_PER_LOOK) return;
      }
    },
  };
}
