// A partner of a workspace as analytics filters and groups by it: its group and tags now, taken from the events of
// its enrolment. One row stands for all of its links.
import type { Change } from '../events/event.ts';
import type { EnrolmentChanged } from './conversion-record.ts';
import { readPayload } from './payload.ts';

export interface PartnerRow {
  readonly workspaceId: string;
  readonly partnerId: string;
  readonly programId: string;
  /** Empty where the partner has none. */
  readonly groupId: string;
  readonly tagIds: readonly string[];
  /** Not enrolled any more. */
  readonly deleted: boolean;
  /** Grows with every change: an earlier one that comes again is ignored. */
  readonly changeId: number;
}

/** Undefined when the change is not one of a partner, or cannot be read. */
export function readPartnerChange({ type, payload, workspaceId, outboxId }: Change): PartnerRow | undefined {
  if (type !== 'enrolment.changed') return undefined;
  const change = readPayload<EnrolmentChanged>(payload, ['partnerId', 'programId', 'groupId']);
  if (!change) return undefined;
  return {
    workspaceId,
    partnerId: change.partnerId,
    programId: change.programId,
    groupId: change.groupId,
    tagIds: change.partnerTagIds ?? [],
    deleted: change.deleted === true,
    changeId: outboxId,
  };
}
