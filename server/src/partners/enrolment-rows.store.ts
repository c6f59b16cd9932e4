// All enrolments with what analytics filters and groups by, page by page: for a rebuild of the event store.
import type { Database } from '../db/database.ts';

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
  async function tagsOf(ids: readonly string[]): Promise<Map<string, string[]>> {
    const tags = new Map<string, string[]>();
    if (ids.length === 0) return tags;
    const rows = await db.query
      .selectFrom('enrolment_tag')
      .select(['enrolment_id', 'tag_id'])
      .where('enrolment_id', 'in', ids)
      .execute();
    for (const { enrolment_id, tag_id } of rows)
      tags.set(enrolment_id, [...(tags.get(enrolment_id) ?? []), tag_id]);
    return tags;
  }

  return {
    async list(after: string | undefined, limit: number): Promise<EnrolmentPage> {
      const rows = await db.query
        .selectFrom('enrolment')
        .select(['id', 'workspace_id', 'partner_id', 'program_id', 'group_id'])
        .where('id', '>', after ?? '')
        .orderBy('id')
        .limit(limit)
        .execute();
      const tags = await tagsOf(rows.map(({ id }) => id));
      return {
        rows: rows.map((row) => ({
          workspaceId: row.workspace_id,
          partnerId: row.partner_id,
          programId: row.program_id,
          groupId: row.group_id ?? '',
          tagIds: tags.get(row.id) ?? [],
          deleted: false,
          // Older than any change: those that follow in the journal win.
          changeId: 0,
        })),
        next: rows.length < limit ? undefined : rows.at(-1)?.id,
      };
    },
  };
}
