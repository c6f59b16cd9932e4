// SQL for what is remembered of a partner's links beside the links: the default link that one stands for, and the
// destination that was asked for, without the campaign of the group.
import type { Database } from '../db/database.ts';
import { sha256Hex } from '../kernel/ids.ts';

export interface PartnerLinkRow {
  readonly linkId: string;
  readonly enrolmentId: string;
  readonly defaultLinkId: string | null;
  /** As it was asked for. */
  readonly url: string;
}

export function createPartnerLinkRowStore(db: Database) {
  return {
    async insert(rows: readonly PartnerLinkRow[], nowMs: number): Promise<void> {
      if (rows.length === 0) return;
      const values = rows.map((row) => ({
        link_id: row.linkId,
        enrolment_id: row.enrolmentId,
        default_link_id: row.defaultLinkId,
        url_hash: sha256Hex(row.url),
        created_at: nowMs,
      }));
      await db.query.insertInto('partner_link').values(values).execute();
    },

    /** Links of the partner that were made for this destination, the oldest first. */
    async findByUrl(enrolmentId: string, url: string): Promise<string[]> {
      const rows = await db.query
        .selectFrom('partner_link')
        .select('link_id')
        .where('enrolment_id', '=', enrolmentId)
        .where('url_hash', '=', sha256Hex(url))
        .orderBy('created_at')
        .orderBy('link_id')
        .execute();
      return rows.map((row) => row.link_id);
    },

    /** Links that stand for a default link, the oldest first. */
    async findDefaults(enrolmentId: string): Promise<{ linkId: string; defaultLinkId: string | null }[]> {
      const rows = await db.query
        .selectFrom('partner_link')
        .select(['link_id', 'default_link_id'])
        .where('enrolment_id', '=', enrolmentId)
        .where('default_link_id', 'is not', null)
        .orderBy('created_at')
        .orderBy('link_id')
        .execute();
      return rows.map((row) => ({ linkId: row.link_id, defaultLinkId: row.default_link_id }));
    },

    /** Which of these partners have a link that stands for this default link. */
    async findHolders(enrolmentIds: readonly string[], defaultLinkId: string): Promise<string[]> {
      if (enrolmentIds.length === 0) return [];
      const rows = await db.query
        .selectFrom('partner_link')
        .select('enrolment_id')
        .where('enrolment_id', 'in', enrolmentIds)
        .where('default_link_id', '=', defaultLinkId)
        .execute();
      return rows.map((row) => row.enrolment_id);
    },

    /** The links of these partners no longer stand for this default link. */
    async releaseDefault(enrolmentIds: readonly string[], defaultLinkId: string): Promise<void> {
      if (enrolmentIds.length === 0) return;
      await db.query
        .updateTable('partner_link')
        .set({ default_link_id: null })
        .where('enrolment_id', 'in', enrolmentIds)
        .where('default_link_id', '=', defaultLinkId)
        .execute();
    },

    async setUrl(linkId: string, url: string): Promise<void> {
      await db.query
        .updateTable('partner_link')
        .set({ url_hash: sha256Hex(url) })
        .where('link_id', '=', linkId)
        .execute();
    },

    /** Null: it stands for none any more. */
    async setDefault(linkId: string, defaultLink: { id: string; url: string } | null): Promise<void> {
      await db.query
        .updateTable('partner_link')
        .set(
          defaultLink
            ? { default_link_id: defaultLink.id, url_hash: sha256Hex(defaultLink.url) }
            : { default_link_id: null },
        )
        .where('link_id', '=', linkId)
        .execute();
    },
  };
}

export type PartnerLinkRowStore = ReturnType<typeof createPartnerLinkRowStore>;
