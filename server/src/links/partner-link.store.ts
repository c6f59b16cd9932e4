// SQL for links as they belong to partners of a program.
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import type { LinkStore } from './link.store.ts';
import type { Link } from './link.ts';
import { urlHash } from './link-row.ts';

export interface PartnerRef {
  readonly programId: string;
  readonly partnerId: string;
}

export function createPartnerLinkStore(db: Database, { withTags }: Pick<LinkStore, 'withTags'>) {
  const ofPartner = ({ programId, partnerId }: PartnerRef) =>
    db.query
      .selectFrom('link')
      .selectAll()
      .where('program_id', '=', programId)
      .where('partner_id', '=', partnerId);

  async function change(ids: readonly string[], values: object, nowMs: number): Promise<void> {
    if (ids.length === 0) return;
    await db.query
      .updateTable('link')
      .set({ ...values, updated_at: nowMs })
      .where('id', 'in', ids)
      .execute();
  }

  return {
    /** The oldest links of each of these partners, at most so many of one. */
    async findOfPartners(
      programId: string,
      partnerIds: readonly string[],
      perPartner: number,
    ): Promise<Map<string, Link[]>> {
      if (partnerIds.length === 0) return new Map();
      const numbered = db.query
        .selectFrom('link')
        .selectAll()
        .select(sql<number>`row_number() over (partition by partner_id order by created_at, id)`.as('place'))
        .where('program_id', '=', programId)
        .where('partner_id', 'in', partnerIds)
        .as('numbered');
      const rows = await db.query
        .selectFrom(numbered)
        .selectAll()
        .where('place', '<=', perPartner)
        .orderBy('created_at')
        .orderBy('id')
        .execute();
      return Map.groupBy(await withTags(rows), (link) => link.partnerId as string);
    },

    async list(partner: PartnerRef, page: { page: number; pageSize: number }): Promise<Link[]> {
      const rows = await ofPartner(partner)
        .orderBy('created_at')
        .orderBy('id')
        .limit(page.pageSize)
        .offset((page.page - 1) * page.pageSize)
        .execute();
      return withTags(rows);
    },

    /** The next ones in the order in which they were made: their ids, and where to go on from. */
    async listAfter(
      { programId, partnerId }: PartnerRef,
      after: { readonly createdAt: number; readonly id: string } | undefined,
      limit: number,
    ): Promise<{ createdAt: number; id: string }[]> {
      let query = db.query
        .selectFrom('link')
        .select(['id', 'created_at as createdAt'])
        .where('program_id', '=', programId)
        .where('partner_id', '=', partnerId)
        .orderBy('created_at')
        .orderBy('id')
        .limit(limit);
      if (after) query = query.where(sql<boolean>`(created_at, id) > (${after.createdAt}, ${after.id})`);
      return query.execute();
    },

    async count({ programId, partnerId }: PartnerRef): Promise<number> {
      const row = await db.query
        .selectFrom('link')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .where('program_id', '=', programId)
        .where('partner_id', '=', partnerId)
        .executeTakeFirstOrThrow();
      return Number(row.count);
    },

    /** Links of the partner that lead to one of these addresses. */
    async findByUrls(partner: PartnerRef, urls: readonly string[]): Promise<Link[]> {
      const query = ofPartner(partner)
        .where('url_hash', 'in', urls.map(urlHash))
        .where('url', 'in', urls)
        .orderBy('created_at')
        .orderBy('id');
      return withTags(await query.execute());
    },

    /** The link of the partner that has sold the most, or the one with this id. */
    async findBest(partner: PartnerRef, linkId?: string): Promise<Link | undefined> {
      let query = ofPartner(partner).orderBy('sale_amount', 'desc').orderBy('created_at').orderBy('id');
      if (linkId !== undefined) query = query.where('id', '=', linkId);
      return (await withTags(await query.limit(1).execute()))[0];
    },

    async findSome(partner: PartnerRef, limit: number): Promise<Link[]> {
      return withTags(await ofPartner(partner).orderBy('id').limit(limit).execute());
    },

    /** Links that still work, of a partner whose links shall not. */
    async findWorking(partner: PartnerRef, how: 'disable' | 'expire', limit: number): Promise<Link[]> {
      const column = how === 'disable' ? 'disabled_at' : 'expires_at';
      return withTags(
        await ofPartner(partner).where(column, 'is', null).orderBy('id').limit(limit).execute(),
      );
    },

    /** Links that were stopped at this very time. */
    async findStopped(partner: PartnerRef, atMs: number, limit: number): Promise<Link[]> {
      const query = ofPartner(partner)
        .where((eb) => eb.or([eb('disabled_at', '=', atMs), eb('expires_at', '=', atMs)]))
        .orderBy('id')
        .limit(limit);
      return withTags(await query.execute());
    },

    /** A date of expiry that a link had before stays. */
    async stop(
      ids: readonly string[],
      how: 'disable' | 'expire',
      atMs: number,
      nowMs: number,
    ): Promise<void> {
      const expires = { expires_at: sql`coalesce(expires_at, ${atMs})` };
      await change(ids, how === 'disable' ? { ...expires, disabled_at: atMs } : expires, nowMs);
    },

    async resume(ids: readonly string[], atMs: number, nowMs: number): Promise<void> {
      const expires_at = sql`case when expires_at = ${atMs} then null else expires_at end`;
      await change(ids, { expires_at, disabled_at: null }, nowMs);
    },
  };
}

export type PartnerLinkStore = ReturnType<typeof createPartnerLinkStore>;
