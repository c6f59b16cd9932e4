// SQL for users and their membership in workspaces.
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { listPage, type PageRequest } from '../db/page.ts';
import type { Role } from '../http/operation.ts';

export interface Member {
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly image: string | null;
  readonly role: Role;
  readonly isMachine: boolean;
  readonly createdAt: number;
}

export interface NewUser {
  readonly id: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly isMachine: boolean;
}

export type MemberSort = 'createdAt' | 'name' | 'role';

/** When looking for part of a name: so many rows are in memory at once. */
const ROWS_PER_LOOK = 500;

export function createUserStore(db: Database) {
  const members = (workspaceId: string) =>
    db.query
      .selectFrom('member')
      .innerJoin('user', 'user.id', 'member.user_id')
      .select([
        'user.id',
        'user.name',
        'user.email',
        'user.image',
        'user.is_machine',
        'member.role',
        'member.created_at',
      ])
      .where('member.workspace_id', '=', workspaceId);

  return {
    /** A new user, at once a member of the workspace. */
    async insertMember(user: NewUser, workspaceId: string, role: Role, nowMs: number): Promise<void> {
      const times = { created_at: nowMs, updated_at: nowMs };
      await db.query
        .insertInto('user')
        .values({
          id: user.id,
          name: user.name,
          email: user.email,
          image: null,
          is_machine: user.isMachine ? 1 : 0,
          ...times,
        })
        .execute();
      await db.query
        .insertInto('member')
        .values({ user_id: user.id, workspace_id: workspaceId, role, default_folder_id: null, ...times })
        .execute();
    },

    async findMember(workspaceId: string, userId: string): Promise<Member | undefined> {
      const row = await members(workspaceId).where('user.id', '=', userId).executeTakeFirst();
      return row && toMember(row);
    },

    async findOwner(workspaceId: string): Promise<Member | undefined> {
      const row = await members(workspaceId)
        .where('member.role', '=', 'owner')
        .where('user.is_machine', '=', 0)
        .orderBy('member.created_at')
        .orderBy('user.id')
        .limit(1)
        .executeTakeFirst();
      return row && toMember(row);
    },

    async list(
      workspaceId: string,
      filter: { search?: string | undefined; role?: Role | undefined },
      page: PageRequest<MemberSort>,
    ): Promise<Member[]> {
      let query = members(workspaceId);
      if (filter.role) query = query.where('member.role', '=', filter.role);
      const read = (wanted: PageRequest<MemberSort>) =>
        listPage(
          query,
          {
            columns: {
              createdAt: 'member.created_at',
              name: sql`coalesce("user".name, '')`,
              role: 'member.role',
            },
            createdAt: 'member.created_at',
            id: 'user.id',
          },
          wanted,
        );
      const rows = filter.search ? await search(read, filter.search, page) : await read(page);
      return rows.map(toMember);
    },

    async delete(userId: string): Promise<void> {
      await db.query.deleteFrom('member').where('user_id', '=', userId).execute();
      await db.query.deleteFrom('user').where('id', '=', userId).execute();
    },
  };
}

export type UserStore = ReturnType<typeof createUserStore>;

/**
 * Reads in the order of the list until the page is full. The engines fold the case of ASCII letters only, and
 * looking for part of a name means reading every member of the workspace there too.
 */
async function search(
  read: (page: PageRequest<MemberSort>) => Promise<MemberRow[]>,
  text: string,
  page: PageRequest<MemberSort>,
): Promise<MemberRow[]> {
  const wanted = fold(text);
  const isMatch = ({ name, email }: MemberRow) =>
    [name, email].some((field) => fold(field ?? '').includes(wanted));
  const found: MemberRow[] = [];
  let toSkip = (page.page - 1) * page.pageSize;
  for (let look = 1; ; look++) {
    const rows = await read({ ...page, page: look, pageSize: ROWS_PER_LOOK });
    for (const row of rows.filter(isMatch)) {
      if (toSkip > 0) toSkip -= 1;
      else found.push(row);
      if (found.length === page.pageSize) return found;
    }
    if (rows.length < ROWS_PER_LOOK) return found;
  }
}

function fold(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

interface MemberRow {
  id: string;
  name: string | null;
  email: string | null;
  image: string | null;
  is_machine: number;
  role: string;
  created_at: number;
}

function toMember(row: MemberRow): Member {
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    image: row.image,
    role: row.role as Role,
    isMachine: row.is_machine === 1,
    createdAt: row.created_at,
  };
}
