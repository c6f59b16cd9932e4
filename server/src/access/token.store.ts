// SQL for API keys.
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { listPage, type PageRequest } from '../db/page.ts';
import type { Role } from '../http/operation.ts';
import type { Token } from './token.ts';

export type TokenSort = 'lastUsed' | 'createdAt' | 'name';

export interface NewToken {
  id: string;
  name: string;
  hashedKey: string;
  partialKey: string;
  scopes: readonly string[];
  expiresAt: number | null;
  userId: string;
  workspaceId: string;
}

/** All that authentication needs to know about a key, in one row. */
export interface KeyHolder {
  tokenId: string;
  hashedKey: string;
  scopes: readonly string[];
  expiresAt: number | null;
  lastUsedAt: number | null;
  userId: string;
  isMachine: boolean;
  role: Role;
  workspaceId: string;
  plan: string;
  limits: string;
}

/** A workspace that has published a key. */
export type Publisher = Pick<KeyHolder, 'workspaceId' | 'plan' | 'limits'>;

export function createTokenStore(db: Database) {
  const tokens = () =>
    db.query
      .selectFrom('token')
      .innerJoin('user', 'user.id', 'token.user_id')
      .select([
        'token.id',
        'token.name',
        'token.partial_key',
        'token.scopes',
        'token.expires_at',
        'token.last_used_at',
        'token.created_at',
        'token.updated_at',
        'token.workspace_id',
        'user.id as user_id',
        'user.name as user_name',
        'user.image as user_image',
        'user.is_machine as user_is_machine',
      ]);

  return {
    /** Holders by hash of their key; a key whose owner is no member has none. */
    async findHolders(hashes: string[]): Promise<Map<string, KeyHolder>> {
      const rows = await db.query
        .selectFrom('token')
        .innerJoin('user', 'user.id', 'token.user_id')
        .innerJoin('workspace', 'workspace.id', 'token.workspace_id')
        .innerJoin('member', (join) =>
          join
            .onRef('member.user_id', '=', 'token.user_id')
            .onRef('member.workspace_id', '=', 'token.workspace_id'),
        )
        .select([
          'token.id as token_id',
          'token.hashed_key',
          'token.scopes',
          'token.expires_at',
          'token.last_used_at',
          'user.id as user_id',
          'user.is_machine',
          'member.role',
          'workspace.id as workspace_id',
          'workspace.plan',
          'workspace.limits',
        ])
        .where('token.hashed_key', 'in', hashes)
        .execute();
      return new Map(
        rows.map((row) => [
          row.hashed_key,
          {
            tokenId: row.token_id,
            hashedKey: row.hashed_key,
            scopes: splitScopes(row.scopes),
            expiresAt: row.expires_at,
            lastUsedAt: row.last_used_at,
            userId: row.user_id,
            isMachine: row.is_machine === 1,
            role: row.role as Role,
            workspaceId: row.workspace_id,
            plan: row.plan,
            limits: row.limits,
          },
        ]),
      );
    },

    /** Workspaces by the key that their pages show. */
    async findPublishers(keys: string[]): Promise<Map<string, Publisher>> {
      const rows = await db.query
        .selectFrom('workspace')
        .select(['id', 'publishable_key', 'plan', 'limits'])
        .where('publishable_key', 'in', keys)
        .execute();
      return new Map(
        rows.map(({ id, publishable_key, plan, limits }) => [
          publishable_key as string,
          { workspaceId: id, plan, limits },
        ]),
      );
    },

    async find(id: string): Promise<Token | undefined> {
      const row = await tokens().where('token.id', '=', id).executeTakeFirst();
      return row && toToken(row);
    },

    async list(
      workspaceId: string,
      filter: { userId?: string | undefined },
      page: PageRequest<TokenSort>,
    ): Promise<Token[]> {
      let query = tokens().where('token.workspace_id', '=', workspaceId);
      if (filter.userId !== undefined) query = query.where('token.user_id', '=', filter.userId);
      const rows = await listPage(
        query,
        {
          columns: {
            lastUsed: sql`coalesce(token.last_used_at, 0)`,
            createdAt: 'token.created_at',
            name: 'token.name',
          },
          createdAt: 'token.created_at',
          id: 'token.id',
        },
        page,
      );
      return rows.map(toToken);
    },

    /** Makes other transactions that add a key to this workspace wait until this one ends. */
    async lockKeys(workspaceId: string): Promise<void> {
      await db.query
        .updateTable('workspace')
        .set((eb) => ({ updated_at: eb.ref('updated_at') }))
        .where('id', '=', workspaceId)
        .execute();
    },

    async count(workspaceId: string): Promise<number> {
      const row = await db.query
        .selectFrom('token')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .where('workspace_id', '=', workspaceId)
        .executeTakeFirstOrThrow();
      return Number(row.count);
    },

    async insert(token: NewToken, nowMs: number): Promise<void> {
      await db.query
        .insertInto('token')
        .values({
          id: token.id,
          name: token.name,
          hashed_key: token.hashedKey,
          partial_key: token.partialKey,
          scopes: joinScopes(token.scopes),
          expires_at: token.expiresAt,
          last_used_at: null,
          user_id: token.userId,
          workspace_id: token.workspaceId,
          created_at: nowMs,
          updated_at: nowMs,
        })
        .execute();
    },

    async update(
      id: string,
      change: { name: string; scopes: readonly string[] },
      nowMs: number,
    ): Promise<void> {
      await db.query
        .updateTable('token')
        .set({ name: change.name, scopes: joinScopes(change.scopes), updated_at: nowMs })
        .where('id', '=', id)
        .execute();
    },

    async delete(id: string): Promise<void> {
      await db.query.deleteFrom('token').where('id', '=', id).execute();
    },

    /** Moves the time of last use forward, never back: another node may have written a later one. */
    async touch(uses: ReadonlyMap<string, number>): Promise<void> {
      await db.write(async (trx) => {
        for (const [id, usedAt] of uses) {
          await trx
            .updateTable('token')
            .set({ last_used_at: usedAt })
            .where('id', '=', id)
            .where((eb) => eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<', usedAt)]))
            .execute();
        }
      });
    },
  };
}

export type TokenStore = ReturnType<typeof createTokenStore>;

interface TokenRow {
  id: string;
  name: string;
  partial_key: string;
  scopes: string | null;
  expires_at: number | null;
  last_used_at: number | null;
  created_at: number;
  updated_at: number;
  workspace_id: string;
  user_id: string;
  user_name: string | null;
  user_image: string | null;
  user_is_machine: number;
}

function toToken(row: TokenRow): Token {
  return {
    id: row.id,
    name: row.name,
    partialKey: row.partial_key,
    scopes: splitScopes(row.scopes),
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    workspaceId: row.workspace_id,
    user: {
      id: row.user_id,
      name: row.user_name,
      image: row.user_image,
      isMachine: row.user_is_machine === 1,
    },
  };
}

function splitScopes(text: string | null): string[] {
  return text === null || text === '' ? [] : text.split(' ');
}

function joinScopes(scopes: readonly string[]): string | null {
  return scopes.length === 0 ? null : [...new Set(scopes)].join(' ');
}
