// SQL for discount codes. A code is one in its program whatever its case, and a link has at most one.
import type { Insertable, Selectable } from 'kysely';
import type { Database } from '../db/database.ts';
import { listPage } from '../db/page.ts';
import { toColumns, toFields } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import type { DiscountCode } from './discount-code.ts';
import { fold } from './partner.ts';

type Row = Schema['discount_code'];

export interface CodeFilter {
  readonly partnerId?: string | undefined;
  readonly discountId?: string | undefined;
}

const SPEC = { columns: { createdAt: 'created_at' }, createdAt: 'created_at', id: 'id' } as const;

export function createDiscountCodeStore(db: Database) {
  const all = () => db.query.selectFrom('discount_code').selectAll();

  async function first(query: ReturnType<typeof all>): Promise<DiscountCode | undefined> {
    const row = await query.executeTakeFirst();
    return row && toCode(row);
  }

  return {
    find: (id: string): Promise<DiscountCode | undefined> => first(all().where('id', '=', id)),

    findByCode: (programId: string, code: string): Promise<DiscountCode | undefined> =>
      first(all().where('program_id', '=', programId).where('code_folded', '=', fold(code))),

    findByLink: (linkId: string): Promise<DiscountCode | undefined> =>
      first(all().where('link_id', '=', linkId)),

    findOldest: (programId: string, partnerId: string): Promise<DiscountCode | undefined> =>
      first(
        all()
          .where('program_id', '=', programId)
          .where('partner_id', '=', partnerId)
          .orderBy('created_at')
          .orderBy('id')
          .limit(1),
      ),

    /** The newest first. */
    async list(
      programId: string,
      { partnerId, discountId }: CodeFilter,
      page: { page: number; pageSize: number },
    ): Promise<DiscountCode[]> {
      let query = all().where('program_id', '=', programId);
      if (partnerId !== undefined) query = query.where('partner_id', '=', partnerId);
      if (discountId !== undefined) query = query.where('discount_id', '=', discountId);
      const newest = { ...page, sortBy: 'createdAt', sortOrder: 'desc' } as const;
      return (await listPage(query, SPEC, newest)).map(toCode);
    },

    /** False when the program has this code already. */
    async insert(code: DiscountCode): Promise<boolean> {
      const row = await db.query
        .insertInto('discount_code')
        .values({
          ...(toColumns(code) as unknown as Insertable<Row>),
          code_folded: fold(code.code),
        })
        .onConflict((conflict) => conflict.doNothing())
        .returning('id')
        .executeTakeFirst();
      return row !== undefined;
    },

    /** Of all codes of a partner at once. */
    async updateOfPartner(
      { programId, partnerId }: { readonly programId: string; readonly partnerId: string },
      change: { readonly discountId?: string | null; readonly disabledAt: number | null },
      nowMs: number,
    ): Promise<void> {
      await db.query
        .updateTable('discount_code')
        .set({ ...toColumns(change), updated_at: nowMs })
        .where('program_id', '=', programId)
        .where('partner_id', '=', partnerId)
        .execute();
    },

    /** Codes of a discount that is no more: they stay reserved, and are worth nothing. */
    async detach(discountId: string, nowMs: number): Promise<void> {
      await db.query
        .updateTable('discount_code')
        .set({ discount_id: null, disabled_at: nowMs, updated_at: nowMs })
        .where('discount_id', '=', discountId)
        .execute();
    },

    /** Returns those that there were. */
    async deleteOfLinks(linkIds: readonly string[]): Promise<DiscountCode[]> {
      if (linkIds.length === 0) return [];
      const query = db.query.deleteFrom('discount_code').where('link_id', 'in', linkIds);
      return (await query.returningAll().execute()).map(toCode);
    },

    async delete(id: string): Promise<void> {
      await db.query.deleteFrom('discount_code').where('id', '=', id).execute();
    },
  };
}

export type DiscountCodeStore = ReturnType<typeof createDiscountCodeStore>;

function toCode(row: Selectable<Row>): DiscountCode {
  const { codeFolded: _, ...code } = toFields(row);
  return code;
}
