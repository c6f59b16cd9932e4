// Collects the look-ups of one event-loop turn into one call, so that a burst of requests costs one query.

export function batchPerTurn<K, V>(
  load: (keys: K[]) => Promise<Map<K, V>>,
): (key: K) => Promise<V | undefined> {
  let waiting: Promise<Map<K, V>> | undefined;
  let keys = new Set<K>();
  return async (key) => {
    keys.add(key);
    waiting ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      const batch = [...keys];
      keys = new Set();
      waiting = undefined;
      return load(batch);
    });
    return (await waiting).get(key);
  };
}
