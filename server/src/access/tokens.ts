// The keys of a workspace: made, shown, changed and revoked by its owners.
import type { Database } from '../db/database.ts';
import type { PageRequest } from '../db/page.ts';
import type { Actor, Role } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError, invalid } from '../kernel/errors.ts';
import type { Ids } from '../kernel/ids.ts';
import { owned } from '../kernel/resource.ts';
import { findScopeBeyond, SCOPE_NAMES } from './rights.ts';
import type { TokenSort, TokenStore } from './token.store.ts';
import { hashKey, MAX_TOKENS, newKey, partialKey, type Token } from './token.ts';
import type { Users } from './users.ts';

export interface TokenRequest {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly isMachine: boolean;
  readonly expiresAt: number | null;
}

/** Who a key is made for; for machine keys a user of its own is made. */
export interface KeyOwner {
  readonly userId: string;
  readonly role: Role;
  readonly workspaceId: string;
}

export interface TokensParts {
  readonly db: Database;
  readonly store: TokenStore;
  readonly users: Users;
  readonly clock: Clock;
  readonly ids: Ids;
}

export function createTokens({ db, store, users, clock, ids }: TokensParts) {
  async function getOwn(workspaceId: string, id: string): Promise<Token> {
    return owned(await store.find(id), workspaceId, 'key');
  }

  return {
    /** Returns the key itself, this once. `given` is a key that exists elsewhere and moves in. */
    create(owner: KeyOwner, request: TokenRequest, given?: string): Promise<{ id: string; key: string }> {
      return db.write(async () => {
        assertScopes(request.isMachine ? 'owner' : owner.role, request.scopes);
        await store.lockKeys(owner.workspaceId);
        if ((await store.count(owner.workspaceId)) >= MAX_TOKENS) {
          throw new AppError('forbidden', `A workspace has at most ${MAX_TOKENS} keys. Delete one first.`);
        }
        const nowMs = clock.now();
        const key = given ?? newKey();
        const id = ids('tok_');
        const userId = request.isMachine
          ? await users.addMember(owner.workspaceId, { name: request.name, role: 'member', isMachine: true })
          : owner.userId;
        await store.insert(
          {
            id,
            name: request.name,
            hashedKey: hashKey(key),
            partialKey: partialKey(key),
            scopes: request.scopes,
            expiresAt: request.expiresAt,
            userId,
            workspaceId: owner.workspaceId,
          },
          nowMs,
        );
        return { id, key };
      });
    },

    list(
      workspaceId: string,
      filter: { userId?: string | undefined },
      page: PageRequest<TokenSort>,
    ): Promise<Token[]> {
      return store.list(workspaceId, filter, page);
    },

    get: getOwn,

    update(actor: Actor, id: string, change: { name: string; scopes: readonly string[] }): Promise<Token> {
      return db.write(async () => {
        const token = await getOwn(actor.workspaceId, id);
        const holder = await users.findMember(actor.workspaceId, token.user.id);
        assertScopes(token.user.isMachine ? 'owner' : (holder?.role ?? 'viewer'), change.scopes);
        await store.update(id, change, clock.now());
        return getOwn(actor.workspaceId, id);
      });
    },

    /** Revokes the key at once; a machine user goes with its key. */
    delete(workspaceId: string, id: string): Promise<void> {
      return db.write(async () => {
        const token = await getOwn(workspaceId, id);
        await store.delete(id);
        if (token.user.isMachine) await users.remove(token.user.id);
      });
    },
  };
}

export type Tokens = ReturnType<typeof createTokens>;

function assertScopes(role: Role, scopes: readonly string[]): void {
  const unknown = scopes.find((scope) => !SCOPE_NAMES.includes(scope));
  if (unknown !== undefined)
    throw invalid('scopes', `${unknown} is not a scope; there are ${SCOPE_NAMES.join(', ')}`);
  const beyond = findScopeBeyond(role, scopes);
  if (beyond !== undefined) throw invalid('scopes', `${beyond} is not for the role ${role}`);
}
