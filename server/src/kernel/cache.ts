// Values by key with a bound: the one used longest ago makes room.
import { LRUCache } from 'lru-cache';

export interface BoundedCache<K extends {}, V extends {}> {
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  delete(key: K): void;
  clear(): void;
  readonly size: number;
}

export function boundedCache<K extends {}, V extends {}>(max: number): BoundedCache<K, V> {
  const cache = new LRUCache<K, V>({ max });
  return {
    get: (key) => cache.get(key),
    set: (key, value) => void cache.set(key, value),
    delete: (key) => void cache.delete(key),
    clear: () => cache.clear(),
    get size() {
      return cache.size;
    },
  };
}
