// All enrolments with what analytics filters and groups by, page by page: for a rebuild of the event store.
import type { Database } from '../db/database.ts';
import { createPartnerTagStore } from './partner-tag.store.ts';

export interface EnrolmentPage {
  readonly rows: readonly {
    workspaceId: string;
    partnerId: string;
    programId: string;
    groupId: string;
    tagIds: string[];
    deleted: boolean;
    changeId: number;
  }[];
  /** Where the next page begins; undefined after the last. */
  readonly next: string | undefined;
}

export function createEnrolmentRowsStore(db: Database) {
  const tags = createPartnerTagStore(db);
  return {
    async list(after: string | undefined, limit: number): Promise<EnrolmentPage> {
      const rows = await db.query
        .selectFrom('enrolment')
        .select(['id', 'workspace_id', 'partner_id', 'program_id', 'group_id'])
        .where('id', '>', after ?? '')
        .orderBy('id')
        .limit(limit)
        .execute();
      const tagsOf = await tags.findOfEnrolments(rows.map(({ id }) => id));
      return {
        rows: rows.map((row) => ({
          workspaceId: row.workspace_id,
          partnerId: row.partner_id,
          programId: row.program_id,
          groupId: row.group_id ?? '',
          tagIds: (tagsOf.get(row.id) ?? []).map((tag) => tag.id),
          deleted: false,
          // Older than any change: those that follow in the journal win.
          changeId: 0,
        })),
        next: rows.length < limit ? undefined : rows.at(-1)?.id,
      };
    },
  };
}
