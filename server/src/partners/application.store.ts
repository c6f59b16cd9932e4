// SQL for applications and invitations.
import type { Insertable, Selectable } from 'kysely';
import type { Database } from '../db/database.ts';
import { fromJson, toColumns, toFields, toJson } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import type { FormAnswer } from './application-form.ts';
import type { Application, RejectionReason } from './applications.ts';

export interface Invite {
  readonly hashedToken: string;
  readonly programId: string;
  readonly enrolmentId: string;
  readonly expiresAt: number;
}

export interface ApplicationFilter {
  readonly country?: string | undefined;
  readonly groupId?: string | undefined;
}

export function createApplicationStore(db: Database) {
  return {
    async find(id: string): Promise<Application | undefined> {
      const query = db.query.selectFrom('partner_application').selectAll().where('id', '=', id);
      const row = await query.executeTakeFirst();
      return row && toApplication(row);
    },

    async findByIds(ids: readonly string[]): Promise<Application[]> {
      if (ids.length === 0) return [];
      const query = db.query.selectFrom('partner_application').selectAll().where('id', 'in', ids);
      return (await query.execute()).map(toApplication);
    },

    /** Applications that wait for an answer, the newest first. */
    async listPending(
      programId: string,
      { country, groupId }: ApplicationFilter,
      page: { page: number; pageSize: number },
    ): Promise<Application[]> {
      let query = db.query
        .selectFrom('enrolment')
        .innerJoin('partner_application', 'partner_application.id', 'enrolment.application_id')
        .selectAll('partner_application')
        .where('enrolment.program_id', '=', programId)
        .where('enrolment.status', '=', 'pending');
      if (country !== undefined)
        query = query.where('partner_application.country', '=', country.toUpperCase());
      if (groupId !== undefined) query = query.where('enrolment.group_id', '=', groupId);
      const rows = await query
        .orderBy('enrolment.created_at', 'desc')
        .orderBy('enrolment.id', 'desc')
        .limit(page.pageSize)
        .offset((page.page - 1) * page.pageSize)
        .execute();
      return rows.map(toApplication);
    },

    async insert(application: Application): Promise<void> {
      await db.query
        .insertInto('partner_application')
        .values(columnsOf(application) as unknown as Insertable<Schema['partner_application']>)
        .execute();
    },

    async update(id: string, change: Partial<Application>): Promise<void> {
      await db.query.updateTable('partner_application').set(columnsOf(change)).where('id', '=', id).execute();
    },

    /** Those that do not meet what the program asks for, and have waited long enough to hear so. */
    async findDueRejections(nowMs: number, limit: number): Promise<Application[]> {
      const rows = await db.query
        .selectFrom('partner_application')
        .selectAll()
        .where('reject_at', '<=', nowMs)
        .orderBy('reject_at')
        .orderBy('id')
        .limit(limit)
        .execute();
      return rows.map(toApplication);
    },

    /** The one invitation of an enrolment; an earlier one no longer counts. */
    async replaceInvite(invite: Invite, nowMs: number): Promise<void> {
      await db.query.deleteFrom('partner_invite').where('enrolment_id', '=', invite.enrolmentId).execute();
      await db.query
        .insertInto('partner_invite')
        .values({
          ...(toColumns(invite) as unknown as Insertable<Schema['partner_invite']>),
          created_at: nowMs,
        })
        .execute();
    },

    async findInvite(hashedToken: string): Promise<Invite | undefined> {
      const query = db.query.selectFrom('partner_invite').selectAll().where('hashed_token', '=', hashedToken);
      const row = await query.executeTakeFirst();
      return row && toFields(row);
    },

    async deleteInvite(hashedToken: string): Promise<void> {
      await db.query.deleteFrom('partner_invite').where('hashed_token', '=', hashedToken).execute();
    },
  };
}

export type ApplicationStore = ReturnType<typeof createApplicationStore>;

function columnsOf({ formData, ...fields }: Partial<Application>) {
  return toColumns({ ...fields, formData: formData === undefined ? undefined : toJson(formData) });
}

function toApplication(row: Selectable<Schema['partner_application']>): Application {
  return {
    ...toFields(row),
    formData: fromJson<FormAnswer[]>(row.form_data),
    rejectionReason: row.rejection_reason as RejectionReason | null,
  };
}
