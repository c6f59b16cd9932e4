// The allowed hostnames of workspaces in memory, so that a click that a page reports costs no query. Every change of
// a workspace drops its entry.
import { createFollowedCache, type FollowedCache } from '../db/followed-cache.ts';

/** By workspace. */
export type HostnameCache = FollowedCache<readonly string[]>;

export interface HostnameCacheOptions {
  /** By workspace; those that do not exist are left out. */
  readonly load: (workspaceIds: readonly string[]) => Promise<Map<string, readonly string[]>>;
  readonly maxWorkspaces?: number;
}

export function createHostnameCache({ load, maxWorkspaces = 10_000 }: HostnameCacheOptions): HostnameCache {
  return createFollowedCache({
    name: 'hostnames',
    load,
    keyOf: ({ type, workspaceId }) => (type.startsWith('workspace.') ? workspaceId : undefined),
    max: maxWorkspaces,
  });
}
