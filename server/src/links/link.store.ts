// SQL for links: rows in and out, and the look-ups that the rules need. Lists and counts are in link-list.store.ts.
import {
  type Insertable,
  type Selectable,
  type SelectQueryBuilder,
  type SqlBool,
  sql,
  type Updateable,
} from 'kysely';
import type { Database } from '../db/database.ts';
import type { Schema } from '../db/schema.ts';
import { type LinkDomain, namesOf } from '../domains/domain.ts';
import { sha256Hex } from '../kernel/ids.ts';
import type { TagColor } from '../tags/tag.ts';
import { type Link, type LinkFields, type LinkTag, ROOT_KEY, type TestVariant } from './link.ts';

type Row = Selectable<Schema['link']>;

/** Few enough that a statement stays below the engines' limits on parameters. */
const ROWS_PER_INSERT = 500;

/** Keeps the rows as they are until the transaction ends; SQLite has one writer and needs no lock. */
export type LinkLock = 'update';

export interface NewLink {
  readonly id: string;
  readonly workspaceId: string;
  readonly userId: string | null;
  readonly fields: Readonly<LinkFields>;
  readonly lookupKey: string;
  readonly createdAt: number;
}

export function createLinkStore(db: Database) {
  async function withTags(rows: Row[]): Promise<Link[]> {
    const attached = rows.length === 0 ? new Map() : await attachedTo(rows.map((row) => row.id));
    return rows.map((row) => toLink(row, attached.get(row.id) ?? NOTHING));
  }

  /** Rows are locked in the order of the query: the same everywhere, so that nobody waits in a circle. */
  function found(query: SelectQueryBuilder<Schema, 'link', Row>, lock: LinkLock | undefined): Promise<Row[]> {
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
          .values(links.slice(start, start + ROWS_PER_INSERT).map(toRow))
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

export function urlHash(url: string): string {
  return sha256Hex(url).slice(0, 16);
}

/** The database folds ASCII by itself; null where nothing else is to be folded. */
function unlessAscii(url: string): string | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII is meant
  return /^[\x00-\x7f]*$/.test(url) ? null : url.toLowerCase();
}

const flag = (value: boolean): number => (value ? 1 : 0);
const json = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));

/** The columns of the fields given; the others stay out of the statement. */
export function toColumns(fields: Partial<LinkFields>): Updateable<Schema['link']> {
  const columns: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    const column = COLUMNS[name as keyof LinkFields];
    columns[column] = typeof value === 'boolean' ? flag(value) : value;
  }
  if (fields.url !== undefined) {
    columns.url_hash = urlHash(fields.url);
    columns.url_folded = unlessAscii(fields.url);
  }
  if (fields.geo !== undefined) columns.geo = json(fields.geo);
  if (fields.testVariants !== undefined) columns.test_variants = json(fields.testVariants);
  return columns;
}

const COLUMNS: Record<keyof LinkFields, keyof Schema['link']> = {
  domain: 'domain',
  key: 'key',
  url: 'url',
  externalId: 'external_id',
  tenantId: 'tenant_id',
  programId: 'program_id',
  partnerId: 'partner_id',
  folderId: 'folder_id',
  trackConversion: 'track_conversion',
  archived: 'archived',
  proxy: 'proxy',
  rewrite: 'rewrite',
  doIndex: 'do_index',
  publicStats: 'public_stats',
  expiresAt: 'expires_at',
  expiredUrl: 'expired_url',
  password: 'password',
  title: 'title',
  description: 'description',
  image: 'image',
  video: 'video',
  ios: 'ios',
  android: 'android',
  geo: 'geo',
  comments: 'comments',
  testVariants: 'test_variants',
  testStartedAt: 'test_started_at',
  testCompletedAt: 'test_completed_at',
  utm_source: 'utm_source',
  utm_medium: 'utm_medium',
  utm_campaign: 'utm_campaign',
  utm_term: 'utm_term',
  utm_content: 'utm_content',
};

function toRow(link: NewLink): Insertable<Schema['link']> {
  return {
    ...(toColumns(link.fields) as Insertable<Schema['link']>),
    id: link.id,
    workspace_id: link.workspaceId,
    user_id: link.userId,
    lookup_key: link.lookupKey,
    clicks: 0,
    leads: 0,
    conversions: 0,
    sales: 0,
    sale_amount: 0,
    last_clicked_at: 0,
    created_at: link.createdAt,
    updated_at: link.createdAt,
  };
}

/** What hangs on a link in tables of its own. */
type Attached = Pick<Link, 'tags' | 'webhookIds'>;

const NOTHING: Attached = { tags: [], webhookIds: [] };

export function toLink(row: Row, { tags, webhookIds }: Attached): Link {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    userId: row.user_id,
    domain: row.domain,
    key: row.key,
    url: row.url,
    externalId: row.external_id,
    tenantId: row.tenant_id,
    programId: row.program_id,
    partnerId: row.partner_id,
    folderId: row.folder_id,
    trackConversion: row.track_conversion === 1,
    archived: row.archived === 1,
    proxy: row.proxy === 1,
    rewrite: row.rewrite === 1,
    doIndex: row.do_index === 1,
    publicStats: row.public_stats === 1,
    expiresAt: row.expires_at,
    expiredUrl: row.expired_url,
    disabledAt: row.disabled_at,
    bannedAt: row.banned_at,
    password: row.password,
    title: row.title,
    description: row.description,
    image: row.image,
    video: row.video,
    ios: row.ios,
    android: row.android,
    geo: row.geo === null ? null : (JSON.parse(row.geo) as Record<string, string>),
    comments: row.comments,
    utm_source: row.utm_source,
    utm_medium: row.utm_medium,
    utm_campaign: row.utm_campaign,
    utm_term: row.utm_term,
    utm_content: row.utm_content,
    testVariants: row.test_variants === null ? null : (JSON.parse(row.test_variants) as TestVariant[]),
    testStartedAt: row.test_started_at,
    testCompletedAt: row.test_completed_at,
    clicks: row.clicks,
    leads: row.leads,
    conversions: row.conversions,
    sales: row.sales,
    saleAmount: row.sale_amount,
    lastClickedAt: row.last_clicked_at === 0 ? null : row.last_clicked_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    tags,
    webhookIds,
  };
}
