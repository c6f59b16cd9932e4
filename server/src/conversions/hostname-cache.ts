// The allowed hostnames of workspaces in memory, so that a click that a page reports costs no query. Bounded;
// every change of a workspace, on this node or another, drops its entry.
import type { Follower } from '../db/database.ts';
import { batchPerTurn } from '../kernel/batch.ts';
import { createBoundedMap } from '../kernel/bounded-map.ts';

export interface HostnameCache {
  /** Undefined when there is no such workspace. */
  find(workspaceId: string): Promise<readonly string[] | undefined>;
  readonly follower: Follower;
}

export interface HostnameCacheOptions {
  /** By workspace; those that do not exist are left out. */
  readonly load: (workspaceIds: readonly string[]) => Promise<Map<string, readonly string[]>>;
  readonly maxWorkspaces?: number;
}

export function createHostnameCache({ load, maxWorkspaces = 10_000 }: HostnameCacheOptions): HostnameCache {
  const kept = createBoundedMap<string, readonly string[]>(maxWorkspaces);
  /** What is being read now. A change takes it off: what was read before the change is not kept. */
  const loading = new Map<string, Promise<readonly string[] | undefined>>();
  const loadOne = batchPerTurn(load);

  function fetch(workspaceId: string): Promise<readonly string[] | undefined> {
    const started = loadOne(workspaceId)
      .then((hostnames) => {
        if (hostnames && loading.get(workspaceId) === started) kept.set(workspaceId, hostnames);
        return hostnames;
      })
      .finally(() => {
        if (loading.get(workspaceId) === started) loading.delete(workspaceId);
      });
    loading.set(workspaceId, started);
    return started;
  }

  return {
    find: async (workspaceId) => kept.get(workspaceId) ?? loading.get(workspaceId) ?? fetch(workspaceId),
    follower: {
      name: 'hostnames',
      digest: ({ type, workspaceId }) => (type.startsWith('workspace.') ? workspaceId : undefined),
      receive(workspaceIds) {
        for (const workspaceId of workspaceIds) {
          loading.delete(workspaceId);
          kept.delete(workspaceId);
        }
      },
      lost() {
        loading.clear();
        kept.clear();
      },
    },
  };
}
