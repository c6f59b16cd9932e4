// From a key to an Actor. Nothing is cached, so a revoked key is refused at once on every node; the look-ups
// of one event-loop turn share one query instead. Last use is noted at most once a minute per key.
import { type Actor, PLANS, type Plan } from '../http/operation.ts';
import { batchPerTurn } from '../kernel/batch.ts';
import { createBoundedMap } from '../kernel/bounded-map.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { effectivePermissions } from './rights.ts';
import type { KeyHolder, Publisher, TokenStore } from './token.store.ts';
import { hashKey } from './token.ts';

const TOUCH_EVERY_MS = 60_000;
const FLUSH_AFTER_MS = 1_000;

export interface Authenticator {
  /** `kind`: which of its keys a workspace is asked for; the one is no good in place of the other. */
  authenticate(key: string, kind?: 'key' | 'publishable_key'): Promise<Actor>;
  /** Writes the times of last use that are still in memory. */
  flush(): Promise<void>;
}

export function createAuthenticator(parts: { store: TokenStore; clock: Clock; log: Log }): Authenticator {
  const { store, clock, log } = parts;
  const findHolder = batchPerTurn((hashes: string[]) => store.findHolders(hashes));
  const findPublisher = batchPerTurn((keys: string[]) => store.findPublishers(keys));
  const touched = createBoundedMap<string, number>(100_000);
  let waiting = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const uses = waiting;
    waiting = new Map();
    if (uses.size === 0) return;
    try {
      await store.touch(uses);
    } catch (error) {
      log.warn({ error: String(error) }, 'the last use of keys could not be written');
    }
  }

  function touch(holder: KeyHolder, nowMs: number): void {
    const last = Math.max(holder.lastUsedAt ?? 0, touched.get(holder.tokenId) ?? 0);
    if (nowMs - last < TOUCH_EVERY_MS) return;
    touched.set(holder.tokenId, nowMs);
    waiting.set(holder.tokenId, nowMs);
    timer ??= setTimeout(() => void flush(), FLUSH_AFTER_MS).unref();
  }

  async function authenticatePage(key: string): Promise<Actor> {
    const publisher = await findPublisher(key);
    if (!publisher) throw new AppError('unauthorized', 'This publishable key is not valid.');
    return { ...ofWorkspace(publisher), ...NOBODY, tokenId: `publishable ${publisher.workspaceId}` };
  }

  return {
    flush,
    async authenticate(key, kind = 'key') {
      if (kind === 'publishable_key') return authenticatePage(key);
      const holder = await findHolder(hashKey(key));
      if (!holder) throw new AppError('unauthorized', 'This API key is not valid.');
      const nowMs = clock.now();
      if (holder.expiresAt !== null && holder.expiresAt <= nowMs) {
        throw new AppError('unauthorized', 'This API key has expired.');
      }
      touch(holder, nowMs);
      return toActor(holder);
    },
  };
}

function toActor(holder: KeyHolder): Actor {
  // A machine user stands for a program of the workspace's owners, not for a person with a role.
  const role = holder.isMachine ? 'owner' : holder.role;
  return {
    tokenId: holder.tokenId,
    userId: holder.userId,
    role,
    permissions: effectivePermissions(role, holder.scopes),
    ...ofWorkspace(holder),
  };
}

/** A page acts for its workspace, and no person is behind it. */
const NOBODY = { userId: '', role: 'viewer', permissions: new Set<string>() } as const;

function ofWorkspace({
  workspaceId,
  plan,
  limits,
}: Publisher): Pick<Actor, 'workspaceId' | 'plan' | 'limits'> {
  return {
    workspaceId,
    plan: PLANS.includes(plan as Plan) ? (plan as Plan) : 'free',
    limits: JSON.parse(limits) as Record<string, number>,
  };
}
