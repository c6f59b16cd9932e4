// What links ask about programs: whether a link may belong to a program and a partner, and where it goes.
import { AppError } from '../kernel/errors.ts';
import type { ProgramLink, ProgramWish } from '../links/link-rules.ts';
import type { EnrolmentStore } from './enrolment.store.ts';
import { mayEarn } from './enrolment-states.ts';
import type { ProgramStore } from './program.store.ts';

export interface LinkProgramsParts {
  readonly programs: Pick<ProgramStore, 'findByWorkspace' | 'findFolder'>;
  readonly enrolments: Pick<EnrolmentStore, 'findByPartner' | 'findByTenant'>;
}

export function createLinkPrograms({ programs, enrolments }: LinkProgramsParts) {
  async function findPartner(
    programId: string,
    { partnerId, tenantId }: ProgramWish,
  ): Promise<string | null> {
    const enrolment = partnerId
      ? await enrolments.findByPartner(programId, partnerId)
      : tenantId
        ? await enrolments.findByTenant(programId, tenantId)
        : undefined;
    if (enrolment && mayEarn(enrolment.status)) return enrolment.partnerId;
    if (!partnerId) return null;
    throw new AppError('not_found', 'custom: partnerId: the program has no such partner');
  }

  return async (workspaceId: string, wish: ProgramWish): Promise<ProgramLink> => {
    const program = await programs.findByWorkspace(workspaceId);
    if (!program || (wish.programId && wish.programId !== program.id)) {
      throw new AppError('not_found', 'custom: programId: this workspace has no such program');
    }
    const partnerId = await findPartner(program.id, wish);
    return { programId: program.id, partnerId, folderId: await programs.findFolder(program) };
  };
}
