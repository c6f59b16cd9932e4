// SQL for links: what is written, and the look-ups that the rules need. Lists and counts are in link-list.store.ts.
import { type SelectQueryBuilder, type SqlBool, sql, type Updateable } from 'kysely';
import type { Database } from '../db/database.ts';
import type { Schema } from '../db/schema.ts';
import { type LinkDomain, namesOf } from '../domains/domain.ts';
import type { TagColor } from '../tags/tag.ts';
import { type Link, type LinkFields, type LinkTag, ROOT_KEY } from './link.ts';
import {
  type Attached,
  type LinkRow,
  type NewLink,
  NOTHING,
  toColumns,
  toLink,
  toRows,
  urlHash,
} from './link-row.ts';

/** Few enough that a statement stays below the engines' limits on parameters. */
const ROWS_PER_INSERT = 500;

/** Keeps the rows as they are until the transaction ends; SQLite has one writer and needs no lock. */
export type LinkLock = 'update';

export function createLinkStore(db: Database) {
  async function withTags(rows: LinkRow[]): Promise<Link[]> {
    const attached = rows.length === 0 ? new Map() : await attachedTo(rows.map((row) => row.id));
    return rows.map((row) => toLink(row, attached.get(row.id) ?? NOTHING));
  }

  /** Rows are locked in the order of the query: the same everywhere, so that nobody waits in a circle. */
  function found(
    query: SelectQueryBuilder<Schema, 'link', LinkRow>,
    lock: LinkLock | undefined,
  ): Promise<LinkRow[]> {
    return (db.engine === 'postgres' && lock ? query.forUpdate() : query).execute();
  }

  /** Tags and webhooks in one statement: most links have neither, and none should cost two questions. */
  async function attachedTo(linkIds: string[]): Promise<Map<string, Attached>> {
    const webhooks = db.query
      .selectFrom('webhook_link')
      .select(['link_id', 'webhook_id as id'])
      .select([sql<string | null>`null`.as('name'), sql<string | null>`null`.as('color')])
      .select(sql<number>`0`.as('position'))
      .where('link_id', 'in', linkIds);
    const rows = await db.query
      .selectFrom('link_tag')
      .innerJoin('tag', 'tag.id', 'link_tag.tag_id')
      .select(['link_tag.link_id', 'tag.id', 'tag.name', 'tag.color', 'link_tag.position'])
      .where('link_tag.link_id', 'in', linkIds)
      .$castTo<{ link_id: string; id: string; name: string | null; color: string | null; position: number }>()
      .unionAll(webhooks)
      .orderBy('link_id')
      .orderBy('position')
      .orderBy('id')
      .execute();
    const byLink = new Map<string, { tags: LinkTag[]; webhookIds: string[] }>();
    for (const { link_id, id, name, color } of rows) {
      const attached = byLink.get(link_id) ?? { tags: [], webhookIds: [] };
      byLink.set(link_id, attached);
      if (name === null) attached.webhookIds.push(id);
      else attached.tags.push({ id, name, color: color as TagColor });
    }
    return byLink;
  }

  return {
    withTags,

    async findById(id: string): Promise<Link | undefined> {
      const rows = await db.query.selectFrom('link').selectAll().where('id', '=', id).execute();
      return (await withTags(rows))[0];
    },

    async findByIds(ids: readonly string[], lock?: LinkLock): Promise<Link[]> {
      if (ids.length === 0) return [];
      return withTags(
        await found(db.query.selectFrom('link').selectAll().where('id', 'in', ids).orderBy('id'), lock),
      );
    },

    async findByExternalIds(
      workspaceId: string,
      externalIds: readonly string[],
      lock?: LinkLock,
    ): Promise<Link[]> {
      if (externalIds.length === 0) return [];
      const query = db.query
        .selectFrom('link')
        .selectAll()
        .where('workspace_id', '=', workspaceId)
        .where('external_id', 'in', externalIds)
        .orderBy('id');
      return withTags(await found(query, lock));
    },

    async findByKey(domain: LinkDomain, lookupKey: string): Promise<Link | undefined> {
      const rows = await db.query
        .selectFrom('link')
        .selectAll()
        .where('domain', 'in', namesOf(domain))
        .where('lookup_key', '=', lookupKey)
        .execute();
      return (await withTags(rows))[0];
    },

    /**
     * The oldest link of the workspace that has one of these destinations. Until the transaction ends nobody
     * else gets an answer about them, so that two who find no link do not both make one.
     */
    async claimByUrl(workspaceId: string, urls: readonly string[]): Promise<Link | undefined> {
      if (db.engine === 'postgres') {
        for (const url of [...urls].sort()) {
          await sql`select pg_advisory_xact_lock(hashtextextended(${`${workspaceId} ${url}`}, 0))`.execute(
            db.query,
          );
        }
      }
      const query = db.query
        .selectFrom('link')
        .selectAll()
        .where('workspace_id', '=', workspaceId)
        .where('url_hash', 'in', urls.map(urlHash))
        .where('url', 'in', urls)
        .orderBy('created_at')
        .orderBy('id')
        .limit(1);
      return (await withTags(await found(query, 'update')))[0];
    },

    /** Which of these keys of a domain are in use. */
    async takenKeys(domain: LinkDomain, lookupKeys: readonly string[]): Promise<Set<string>> {
      const rows = await db.query
        .selectFrom('link')
        .select('lookup_key')
        .where('domain', 'in', namesOf(domain))
        .where('lookup_key', 'in', lookupKeys)
        .execute();
      return new Set(rows.map((row) => row.lookup_key));
    },

    async takenExternalIds(workspaceId: string, externalIds: readonly string[]): Promise<Set<string>> {
      if (externalIds.length === 0) return new Set();
      const rows = await db.query
        .selectFrom('link')
        .select('external_id')
        .where('workspace_id', '=', workspaceId)
        .where('external_id', 'in', externalIds)
        .execute();
      return new Set(rows.map((row) => row.external_id as string));
    },

    /** Inserts what collides with nothing; returns the ids that went in. */
    async insert(given: readonly NewLink[]): Promise<Set<string>> {
      // In one order everywhere, so that two calls that want the same keys do not wait for each other in a circle.
      const links = given.toSorted((a, b) => (a.lookupKey < b.lookupKey ? -1 : 1));
      const inserted = new Set<string>();
      for (let start = 0; start < links.length; start += ROWS_PER_INSERT) {
        const rows = await db.query
          .insertInto('link')
          .values(toRows(links.slice(start, start + ROWS_PER_INSERT)))
          .onConflict((conflict) => conflict.doNothing())
          .returning('id')
          .execute();
        for (const { id } of rows) inserted.add(id);
      }
      return inserted;
    },

    async update(id: string, change: Updateable<Schema['link']>): Promise<void> {
      await db.query.updateTable('link').set(change).where('id', '=', id).execute();
    },

    /** Replaces the tags of these links. */
    async setTags(tagIds: ReadonlyMap<string, readonly string[]>): Promise<void> {
      await db.query
        .deleteFrom('link_tag')
        .where('link_id', 'in', [...tagIds.keys()])
        .execute();
      await insertTags(tagIds);
    },

    addTags: insertTags,

    /** Replaces the webhooks that hear of clicks on these links. */
    async setWebhooks(webhookIds: ReadonlyMap<string, readonly string[]>, nowMs: number): Promise<void> {
      if (webhookIds.size === 0) return;
      await db.query
        .deleteFrom('webhook_link')
        .where('link_id', 'in', [...webhookIds.keys()])
        .execute();
      const rows = [...webhookIds].flatMap(([linkId, ids]) =>
        ids.map((id) => ({ link_id: linkId, webhook_id: id, created_at: nowMs })),
      );
      if (rows.length > 0) await db.query.insertInto('webhook_link').values(rows).execute();
    },

    /** At most so many links of a domain or a folder, in no particular order. */
    async findSome(
      of: { workspaceId: string; domain?: string; folderId?: string },
      limit: number,
    ): Promise<Link[]> {
      let query = db.query
        .selectFrom('link')
        .selectAll()
        .where('workspace_id', '=', of.workspaceId)
        .limit(limit);
      if (of.domain !== undefined) query = query.where('domain', '=', of.domain);
      if (of.folderId !== undefined) query = query.where('folder_id', '=', of.folderId);
      return withTags(await query.execute());
    },

    async hasKeyedLinks(domain: string): Promise<boolean> {
      const rows = await db.query
        .selectFrom('link')
        .select('lookup_key')
        .where('domain', '=', domain)
        .limit(2)
        .execute();
      return rows.some((row) => row.lookup_key !== ROOT_KEY);
    },

    /** Gives these links another domain; returns the ids of those that were still on the old one. */
    async moveDomain(from: string, to: string, ids: readonly string[], nowMs: number): Promise<string[]> {
      const rows = await db.query
        .updateTable('link')
        .set({ domain: to, updated_at: nowMs })
        .where('id', 'in', ids)
        .where('domain', '=', from)
        .returning('id')
        .execute();
      return rows.map((row) => row.id);
    },

    /** Takes a tag off at most so many links; returns their ids. */
    async removeTag(tagId: string, limit: number, nowMs: number): Promise<string[]> {
      const pairs = await db.query
        .selectFrom('link_tag')
        .select('link_id')
        .where('tag_id', '=', tagId)
        .limit(limit)
        .execute();
      const ids = pairs.map((pair) => pair.link_id);
      if (ids.length === 0) return [];
      await db.query.deleteFrom('link_tag').where('tag_id', '=', tagId).where('link_id', 'in', ids).execute();
      await db.query.updateTable('link').set({ updated_at: nowMs }).where('id', 'in', ids).execute();
      return ids;
    },

    /** Takes these links out of the folder; returns the ids of those that were still in it. */
    async clearFolder(folderId: string, ids: readonly string[], nowMs: number): Promise<string[]> {
      const rows = await db.query
        .updateTable('link')
        .set({ folder_id: null, updated_at: nowMs })
        .where('id', 'in', ids)
        .where('folder_id', '=', folderId)
        .returning('id')
        .execute();
      return rows.map((row) => row.id);
    },

    /** Returns the ids of those that were still there. */
    async delete(ids: readonly string[]): Promise<Set<string>> {
      if (ids.length === 0) return new Set();
      await db.query.deleteFrom('link_tag').where('link_id', 'in', ids).execute();
      const rows = await db.query.deleteFrom('link').where('id', 'in', ids).returning('id').execute();
      return new Set(rows.map((row) => row.id));
    },

    /** Links whose test is over and has not been ended yet, the longest overdue first. */
    async findDueTests(nowMs: number, after: TestPosition | undefined, limit: number): Promise<Link[]> {
      let query = db.query
        .selectFrom('link')
        .selectAll()
        .where('test_variants', 'is not', null)
        .where('test_ended_at', 'is', null)
        .where('test_completed_at', '<=', nowMs)
        .orderBy('test_completed_at')
        .orderBy('id')
        .limit(limit);
      if (after) {
        query = query.where(sql<SqlBool>`(test_completed_at, id) > (${after.testCompletedAt}, ${after.id})`);
      }
      return withTags(await query.execute());
    },

    /** True when this call ended the test: it was the same test, and nobody had ended it. */
    async endTest(link: Link, change: Partial<LinkFields>, nowMs: number): Promise<boolean> {
      const { numUpdatedRows } = await db.query
        .updateTable('link')
        .set({ ...toColumns(change), test_ended_at: nowMs, updated_at: nowMs })
        .where('id', '=', link.id)
        .where('test_ended_at', 'is', null)
        .where('test_completed_at', '=', link.testCompletedAt)
        .where('test_variants', '=', JSON.stringify(link.testVariants))
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },
  };

  async function insertTags(tagIds: ReadonlyMap<string, readonly string[]>): Promise<void> {
    const rows = [...tagIds].flatMap(([linkId, ids]) =>
      ids.map((tagId, position) => sql`(${linkId}, ${tagId}, ${position})`),
    );
    if (rows.length === 0) return;
    await sql`with pair (link_id, tag_id, position) as (values ${sql.join(rows)})
      insert into link_tag (link_id, tag_id, position, archived, created_at)
      select pair.link_id, pair.tag_id, cast(pair.position as bigint), link.archived, link.created_at
      from pair cross join link where link.id = pair.link_id`.execute(db.query);
  }
}

/** Where a walk through the tests that are over has got to. */
export type TestPosition = Pick<Link, 'id' | 'testCompletedAt'>;

export type LinkStore = ReturnType<typeof createLinkStore>;
