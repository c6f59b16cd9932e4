// SQL for programs.
import type { Insertable, Selectable } from 'kysely';
import type { Database } from '../db/database.ts';
import { fromJson, toColumns, toFields, toJson } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import type { PayoutMode, Program, RewardEvent } from './program.ts';

type Row = Schema['program'];

export function createProgramStore(db: Database) {
  async function find(column: 'id' | 'slug' | 'workspace_id', value: string): Promise<Program | undefined> {
    const row = await db.query.selectFrom('program').selectAll().where(column, '=', value).executeTakeFirst();
    return row && toProgram(row);
  }

  return {
    find: (id: string) => find('id', id),
    findBySlug: (slug: string) => find('slug', slug),
    findByWorkspace: (workspaceId: string) => find('workspace_id', workspaceId),

    async isSlugTaken(slug: string): Promise<boolean> {
      return (await find('slug', slug)) !== undefined;
    },

    /** Ids of programs that follow this one, in their order; for jobs over all of them. */
    async findIds(after: string, limit: number): Promise<string[]> {
      const query = db.query.selectFrom('program').select('id').where('id', '>', after);
      return (await query.orderBy('id').limit(limit).execute()).map(({ id }) => id);
    },

    /** The same of programs that are open and reward clicks. */
    async findWithClickRewards(after: string, limit: number): Promise<string[]> {
      const rows = await db.query
        .selectFrom('program')
        .select('id')
        .where('id', '>', after)
        .where('deactivated_at', 'is', null)
        .where((eb) =>
          eb.exists(
            eb
              .selectFrom('reward')
              .select('reward.id')
              .whereRef('reward.program_id', '=', 'program.id')
              .where('reward.event', '=', 'click'),
          ),
        )
        .orderBy('id')
        .limit(limit)
        .execute();
      return rows.map(({ id }) => id);
    },

    /** The folder of the program's links, unless somebody has deleted it. */
    async findFolder({ defaultFolderId }: Pick<Program, 'defaultFolderId'>): Promise<string | null> {
      if (defaultFolderId === null) return null;
      const query = db.query.selectFrom('folder').select('id').where('id', '=', defaultFolderId);
      return (await query.executeTakeFirst())?.id ?? null;
    },

    /** Makes other transactions that lock this program wait until this one ends. */
    async lock(id: string): Promise<void> {
      await db.query
        .updateTable('program')
        .set((eb) => ({ updated_at: eb.ref('updated_at') }))
        .where('id', '=', id)
        .execute();
    },

    async insert(program: Program): Promise<void> {
      await db.query
        .insertInto('program')
        .values(columnsOf(program) as unknown as Insertable<Row>)
        .execute();
    },

    async update(id: string, change: Partial<Program>): Promise<void> {
      await db.query.updateTable('program').set(columnsOf(change)).where('id', '=', id).execute();
    },
  };
}

export type ProgramStore = ReturnType<typeof createProgramStore>;

function columnsOf({ applicationRequirements, ...fields }: Partial<Program>) {
  const requirements = applicationRequirements === undefined ? undefined : toJson(applicationRequirements);
  return toColumns({ ...fields, applicationRequirements: requirements });
}

function toProgram(row: Selectable<Row>): Program {
  return {
    ...toFields(row),
    payoutMode: row.payout_mode as PayoutMode,
    primaryRewardEvent: row.primary_reward_event as RewardEvent,
    applicationRequirements: fromJson(row.application_requirements),
  };
}
