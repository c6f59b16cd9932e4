// The allowed hostnames of workspaces in memory, so that a click that a page reports costs no query. Every change of
// a workspace drops its entry.
import type { Database } from '../db/database.ts';
import { createFollowedCache, type FollowedCache } from '../db/followed-cache.ts';

/** By workspace. */
export type HostnameCache = FollowedCache<readonly string[]>;

export interface HostnameCacheOptions {
  readonly db: Pick<Database, 'inTransaction'>;
  /** By workspace; those that do not exist are left out. */
  readonly load: (workspaceIds: readonly string[]) => Promise<Map<string, readonly string[]>>;
  readonly maxWorkspaces?: number;
}

export function createHostnameCache({
  db,
  load,
  maxWorkspaces = 10_000,
}: HostnameCacheOptions): HostnameCache {
  return createFollowedCache({
    db,
    name: 'hostnames',
    load,
    keyOf: ({ type, workspaceId }) => (type.startsWith('workspace.') ? workspaceId : undefined),
    max: maxWorkspaces,
  });
}
