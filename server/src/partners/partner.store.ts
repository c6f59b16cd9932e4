// SQL for partners as people, whatever programs they are in.
import type { Insertable, Selectable } from 'kysely';
import type { Database } from '../db/database.ts';
import { toColumns, toFields } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import { fold, type Partner } from './partner.ts';

type Row = Schema['partner'];

export function createPartnerStore(db: Database) {
  return {
    async find(id: string): Promise<Partner | undefined> {
      const row = await db.query.selectFrom('partner').selectAll().where('id', '=', id).executeTakeFirst();
      return row && toPartner(row);
    },

    async findByEmail(email: string): Promise<Partner | undefined> {
      const query = db.query.selectFrom('partner').selectAll().where('email_folded', '=', fold(email));
      const row = await query.executeTakeFirst();
      return row && toPartner(row);
    },

    async findByIds(ids: readonly string[]): Promise<Partner[]> {
      if (ids.length === 0) return [];
      const rows = await db.query.selectFrom('partner').selectAll().where('id', 'in', ids).execute();
      return rows.map(toPartner);
    },

    /** False when somebody has the address or the handle already. */
    async insert(partner: Partner): Promise<boolean> {
      const row = await db.query
        .insertInto('partner')
        .values(columnsOf(partner) as unknown as Insertable<Row>)
        .onConflict((conflict) => conflict.doNothing())
        .returning('id')
        .executeTakeFirst();
      return row !== undefined;
    },

    async update(partner: Partner): Promise<void> {
      await db.query.updateTable('partner').set(columnsOf(partner)).where('id', '=', partner.id).execute();
    },
  };
}

export type PartnerStore = ReturnType<typeof createPartnerStore>;

function columnsOf(partner: Partner) {
  const { name, email, companyName } = partner;
  return toColumns({
    ...partner,
    emailFolded: email && fold(email),
    searchText: fold([name, email, companyName].filter(Boolean).join('\n')),
  });
}

export function toPartner(row: Selectable<Row>): Partner {
  const { emailFolded: _email, searchText: _text, ...fields } = toFields(row);
  return fields as Partner;
}
