// The people (and machine users) of a workspace.
import type { PageRequest } from '../db/page.ts';
import type { Role } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Ids } from '../kernel/ids.ts';
import type { Member, MemberSort, UserStore } from './user.store.ts';

export function createUsers({ store, clock, ids }: { store: UserStore; clock: Clock; ids: Ids }) {
  return {
    /** Makes a user and adds it to the workspace. */
    async addMember(
      workspaceId: string,
      user: { name: string; role: Role; isMachine?: boolean },
    ): Promise<string> {
      const id = ids('user_');
      const row = { id, name: user.name, email: null, isMachine: user.isMachine ?? false };
      await store.insertMember(row, workspaceId, user.role, clock.now());
      return id;
    },

    findMember: (workspaceId: string, userId: string): Promise<Member | undefined> =>
      store.findMember(workspaceId, userId),

    /** The person who has owned the workspace longest. */
    findOwner: (workspaceId: string): Promise<Member | undefined> => store.findOwner(workspaceId),

    list: (
      workspaceId: string,
      filter: { search?: string | undefined; role?: Role | undefined },
      page: PageRequest<MemberSort>,
    ): Promise<Member[]> => store.list(workspaceId, filter, page),

    remove: (userId: string): Promise<void> => store.delete(userId),
  };
}

export type Users = ReturnType<typeof createUsers>;
