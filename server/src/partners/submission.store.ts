// SQL for submissions to bounties: at most one per bounty, partner and period.
import { type Insertable, type Selectable, type SqlBool, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { listPage, type PageRequest } from '../db/page.ts';
import { fromJson, toColumns, toFields, toJson } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import type { Submission } from './bounty.ts';
import { SUBMISSION_TRANSITIONS, type SubmissionStatus } from './submission-states.ts';

type Row = Schema['bounty_submission'];

export const SUBMISSION_SORTS = ['completedAt', 'performanceCount', 'socialMetricCount'] as const;
export type SubmissionSort = (typeof SUBMISSION_SORTS)[number];

export interface SubmissionFilter {
  /** Without it all but the rejected. */
  readonly status?: SubmissionStatus | undefined;
  readonly groupId?: string | undefined;
  readonly partnerId?: string | undefined;
}

const SPEC = {
  columns: {
    completedAt: sql`coalesce(completed_at, 0)`,
    performanceCount: 'performance_count',
    socialMetricCount: 'social_metric_count',
  },
  createdAt: 'created_at',
  id: 'id',
} as const;
/** Few enough that a statement stays far below the engines' limits on parameters. */
const ROWS_PER_INSERT = 250;

export function createSubmissionStore(db: Database) {
  const all = () => db.query.selectFrom('bounty_submission').selectAll();

  return {
    async find(id: string): Promise<Submission | undefined> {
      const row = await all().where('id', '=', id).executeTakeFirst();
      return row && toSubmission(row);
    },

    /** Of one partner, the earliest period first. */
    async findOfPartner(bountyIds: readonly string[], partnerId: string): Promise<Submission[]> {
      if (bountyIds.length === 0) return [];
      const query = all().where('bounty_id', 'in', bountyIds).where('partner_id', '=', partnerId);
      return (await query.orderBy('period_number').execute()).map(toSubmission);
    },

    async findDrafts(programId: string, partnerId: string): Promise<Submission[]> {
      const query = all()
        .where('program_id', '=', programId)
        .where('partner_id', '=', partnerId)
        .where('status', '=', 'draft');
      return (await query.execute()).map(toSubmission);
    },

    async list(
      bountyId: string,
      { status, groupId, partnerId }: SubmissionFilter,
      page: PageRequest<SubmissionSort>,
    ): Promise<Submission[]> {
      let query = all().where('bounty_id', '=', bountyId);
      query = status ? query.where('status', '=', status) : query.where('status', '!=', 'rejected');
      if (partnerId !== undefined) query = query.where('partner_id', '=', partnerId);
      if (groupId !== undefined) {
        query = query.where(sql<SqlBool>`exists (select 1 from enrolment
          where enrolment.program_id = bounty_submission.program_id
            and enrolment.partner_id = bounty_submission.partner_id and enrolment.group_id = ${groupId})`);
      }
      return (await listPage(query, SPEC, page)).map(toSubmission);
    },

    /** Whether somebody has handed in anything, of whatever became of it. */
    async hasAnyBeyondDraft(bountyId: string): Promise<boolean> {
      const row = await db.query
        .selectFrom('bounty_submission')
        .select('id')
        .where('bounty_id', '=', bountyId)
        .where('status', '!=', 'draft')
        .limit(1)
        .executeTakeFirst();
      return row !== undefined;
    },

    /** Those that are there already stay as they are. */
    async insert(submissions: readonly Submission[]): Promise<void> {
      for (let start = 0; start < submissions.length; start += ROWS_PER_INSERT) {
        const rows = submissions.slice(start, start + ROWS_PER_INSERT);
        await db.query
          .insertInto('bounty_submission')
          .values(rows.map((row) => columnsOf(row) as unknown as Insertable<Row>))
          .onConflict((conflict) => conflict.doNothing())
          .execute();
      }
    },

    async update(id: string, change: Partial<Submission>): Promise<void> {
      await db.query.updateTable('bounty_submission').set(columnsOf(change)).where('id', '=', id).execute();
    },

    /** What a partner who was banned has not been paid for is turned down. */
    async dismiss(
      { programId, partnerId }: { readonly programId: string; readonly partnerId: string },
      nowMs: number,
    ): Promise<void> {
      const { from, to } = SUBMISSION_TRANSITIONS.dismiss;
      await db.query
        .updateTable('bounty_submission')
        .set({ status: to, rejection_reason: 'other', reviewed_at: nowMs, updated_at: nowMs })
        .where('program_id', '=', programId)
        .where('partner_id', '=', partnerId)
        .where('status', 'in', from)
        .execute();
    },
  };
}

export type SubmissionStore = ReturnType<typeof createSubmissionStore>;

function columnsOf({ urls, files, ...fields }: Partial<Submission>) {
  const json = (value: unknown) => (value === undefined ? undefined : toJson(value));
  return toColumns({ ...fields, urls: json(urls), files: json(files) });
}

function toSubmission(row: Selectable<Row>): Submission {
  return {
    ...toFields(row),
    status: row.status as SubmissionStatus,
    urls: fromJson(row.urls),
    files: fromJson(row.files),
    rejectionReason: row.rejection_reason as Submission['rejectionReason'],
  };
}
