// A map that never holds more than a given number of entries. Two generations instead of a list of uses: what
// was read or written lately is in the young one; when that is full, the old one goes as a whole.

export interface BoundedMap<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  delete(key: K): void;
  clear(): void;
  /** At most; entries that are in both generations count twice. */
  readonly size: number;
}

export function createBoundedMap<K, V extends NonNullable<unknown>>(max: number): BoundedMap<K, V> {
  const half = Math.max(1, Math.floor(max / 2));
  let young = new Map<K, V>();
  let old = new Map<K, V>();

  function set(key: K, value: V): void {
    if (young.size >= half && !young.has(key)) {
      old = young;
      young = new Map();
    }
    young.set(key, value);
  }

  return {
    get(key) {
      const value = young.get(key);
      if (value !== undefined) return value;
      const aged = old.get(key);
      // It stays in the old generation too: deleting would shrink that map, which takes long when it is large.
      if (aged !== undefined) set(key, aged);
      return aged;
    },
    set,
    delete(key) {
      young.delete(key);
      old.delete(key);
    },
    clear() {
      young = new Map();
      old = new Map();
    },
    get size() {
      return young.size + old.size;
    },
  };
}
