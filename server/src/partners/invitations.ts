// Invitations into a program. Whoever invites gets the secret to pass on; it is known here by its hash only.
import type { Database } from '../db/database.ts';
import type { Actor } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError, invalid } from '../kernel/errors.ts';
import { randomText, sha256Hex } from '../kernel/ids.ts';
import type { Admissions } from './admissions.ts';
import type { ApplicationStore, Invite } from './application.store.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import type { EnrolmentChanges } from './enrolment-changes.ts';
import { canHappen, stateAfter } from './enrolment-states.ts';
import type { ShownPartner } from './enrolment-wire.ts';
import type { Enrolments } from './enrolments.ts';
import type { PartnerGroup } from './group.ts';
import type { Groups } from './groups.ts';
import { type Enrolment, type Partner, tenantTaken } from './partner.ts';
import type { ProgramStore } from './program.store.ts';
import type { Program } from './program.ts';
import type { Programs } from './programs.ts';
import type { Referrers } from './referrers.ts';

const VALID_MS = 14 * 86_400_000;
const TOKEN_LENGTH = 40;

export interface InvitationsParts {
  readonly db: Database;
  readonly store: ApplicationStore;
  readonly enrolmentStore: EnrolmentStore;
  readonly programs: Programs;
  readonly programStore: ProgramStore;
  readonly groups: Groups;
  readonly enrolments: Enrolments;
  readonly admissions: Admissions;
  readonly changes: EnrolmentChanges;
  readonly referrers: Referrers;
  readonly clock: Clock;
}

export interface InvitationRequest {
  readonly email: string;
  readonly name?: string | null | undefined;
  readonly groupId?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly referredByPartnerId?: string | undefined;
}

export interface Invitation {
  readonly shown: ShownPartner;
  readonly token: string;
  readonly expiresAt: number;
}

export function createInvitations(parts: InvitationsParts) {
  const { db, store, enrolmentStore, programs, groups, enrolments, admissions, changes } = parts;
  const { referrers, clock } = parts;

  /** Whoever was invited, has declined or was rejected can be invited again; others are in the program already. */
  async function enrolInvited(
    program: Program,
    partner: Partner,
    group: PartnerGroup,
    { tenantId, referredByPartnerId }: InvitationRequest,
  ): Promise<Enrolment> {
    if (referredByPartnerId === partner.id) throw invalid('referredByPartnerId', 'nobody brings themselves');
    const wanted = { program, partner, group, status: 'invited', tenantId: tenantId ?? null } as const;
    const inserted = await admissions.insert({ ...wanted, referredByPartnerId });
    if (inserted) return inserted;
    const known = await enrolmentStore.findByPartner(program.id, partner.id);
    if (!known) throw tenantTaken();
    if (!canHappen(known.status, 'invite')) {
      throw new AppError(
        'conflict',
        `custom: email: this partner is in the program already (${known.status})`,
      );
    }
    return changes.change(known, 'invite', {
      groupId: group.id,
      ...(tenantId && { tenantId }),
      ...(referredByPartnerId && { referredByPartnerId }),
    });
  }

  /** What the secret opens. Both ends of it are looked at under a lock, so that it works once. */
  async function open(token: string): Promise<{ invite: Invite; enrolment: Enrolment }> {
    const invite = await store.findInvite(sha256Hex(token));
    const enrolment = invite && (await enrolmentStore.find(invite.enrolmentId));
    if (!invite || !enrolment) throw new AppError('not_found', 'There is no such invitation.');
    if (invite.expiresAt <= clock.now()) {
      throw new AppError('invite_expired', 'This invitation has expired. Ask for a new one.');
    }
    return { invite, enrolment };
  }

  return {
    create(actor: Actor, request: InvitationRequest): Promise<Invitation> {
      return db.write(async () => {
        const { email, name, groupId, referredByPartnerId } = request;
        const program = await programs.getOfWorkspace(actor.workspaceId);
        const group = await groups.getFor(program, groupId);
        await referrers.assertKnown(program, referredByPartnerId);
        const partner = await admissions.findOrCreatePartner({ email, name });
        const enrolment = await enrolInvited(program, partner, group, request);
        const token = randomText(TOKEN_LENGTH);
        const expiresAt = clock.now() + VALID_MS;
        const invite = { hashedToken: sha256Hex(token), programId: program.id, enrolmentId: enrolment.id };
        await store.replaceInvite({ ...invite, expiresAt }, clock.now());
        await enrolments.tellChanged([enrolment]);
        const [shown] = await enrolments.show([enrolment]);
        return { shown: shown as ShownPartner, token, expiresAt };
      });
    },

    /** Public: whoever has the secret. */
    accept(token: string): Promise<{ partnerId: string; programId: string }> {
      return db.write(async () => {
        const { invite, enrolment } = await open(token);
        const program = (await parts.programStore.find(invite.programId)) as Program;
        const group = await groups.getOf(program, enrolment);
        stateAfter(enrolment.status, 'accept');
        await admissions.reserve(program);
        await store.deleteInvite(invite.hashedToken);
        await admissions.admit(program, enrolment, group);
        return { partnerId: enrolment.partnerId, programId: program.id };
      });
    },

    decline(token: string): Promise<{ partnerId: string; programId: string }> {
      return db.write(async () => {
        const { invite, enrolment } = await open(token);
        await changes.change(enrolment, 'decline');
        await store.deleteInvite(invite.hashedToken);
        return { partnerId: enrolment.partnerId, programId: invite.programId };
      });
    },
  };
}

export type Invitations = ReturnType<typeof createInvitations>;
