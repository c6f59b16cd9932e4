// Things of the store in memory, so that those who need them all the time cost no query. Bounded; a change, on this
// node or another, drops what it is about, and what was read before a change is never kept after it.
import { batchPerTurn } from '../kernel/batch.ts';
import { createBoundedMap } from '../kernel/bounded-map.ts';
import type { CommittedEvent, Database, Follower } from './database.ts';

export interface FollowedCache<V> {
  /** Undefined when there is no such thing. */
  find(key: string): Promise<V | undefined>;
  readonly follower: Follower;
}

export interface FollowedCacheOptions<V> {
  readonly db: Pick<Database, 'inTransaction'>;
  /** The same on every node. */
  readonly name: string;
  /** By key; those that do not exist are left out. */
  readonly load: (keys: string[]) => Promise<Map<string, V>>;
  /** What an event is about: a key, all of them, or nothing that is kept here. */
  readonly keyOf: (event: CommittedEvent) => string | typeof EVERYTHING | undefined;
  readonly max: number;
}

/** No key: keys name something. */
export const EVERYTHING = '';

export function createFollowedCache<V extends NonNullable<unknown>>(
  options: FollowedCacheOptions<V>,
): FollowedCache<V> {
  const { db, name, load, keyOf, max } = options;
  const kept = createBoundedMap<string, V>(max);
  /** What is being read now. A change takes it off: what was read before the change is not kept. */
  const loading = new Map<string, Promise<V | undefined>>();
  const loadOne = batchPerTurn(load);

  function fetch(key: string): Promise<V | undefined> {
    const started = loadOne(key)
      .then((value) => {
        if (value !== undefined && loading.get(key) === started) kept.set(key, value);
        return value;
      })
      .finally(() => {
        if (loading.get(key) === started) loading.delete(key);
      });
    loading.set(key, started);
    return started;
  }

  /**
   * In a transaction everybody reads for themselves: who holds a connection must not wait for somebody who waits for
   * one, and what is not committed is not kept.
   */
  async function read(key: string): Promise<V | undefined> {
    if (db.inTransaction) return (await load([key])).get(key);
    return loading.get(key) ?? fetch(key);
  }

  function clear(): void {
    loading.clear();
    kept.clear();
  }

  return {
    find: async (key) => kept.get(key) ?? read(key),
    follower: {
      name,
      digest: keyOf,
      receive(keys) {
        for (const key of keys) {
          if (key === EVERYTHING) clear();
          loading.delete(key);
          kept.delete(key);
        }
      },
      lost: clear,
    },
  };
}
