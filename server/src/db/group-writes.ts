// Writes that come one a request, but many at once. On the engine with one writer those that come while others are
// being written share the next transaction, and so one wait for the disk; on the other a few run side by side, so
// that they do not take every connection while they wait for each other's rows. Each keeps its own outcome.
import { createGate } from '../kernel/gate.ts';
import type { Database } from './database.ts';

/** May run the work again; all that it changes must be in the database. */
export type Write = <T>(work: () => Promise<T>) => Promise<T>;

interface Waiting {
  readonly work: () => Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Few enough that another writer does not wait long for a whole group. */
const MAX_TOGETHER = 32;
const SIDE_BY_SIDE = { running: 4, waiting: 100_000 };

export function groupWrites(db: Pick<Database, 'engine' | 'inTransaction' | 'write'>): Write {
  const queue: Waiting[] = [];
  const gate = createGate(SIDE_BY_SIDE);
  let working = false;

  async function writeTogether(group: readonly Waiting[]): Promise<void> {
    try {
      const results = await db.write(async () => {
        const outcomes: unknown[] = [];
        for (const { work } of group) outcomes.push(await work());
        return outcomes;
      });
      for (const [index, { resolve }] of group.entries()) resolve(results[index]);
    } catch (error) {
      if (group.length === 1) return group[0]?.reject(error);
      // What refused one of them must not refuse the others.
      for (const each of group) await writeTogether([each]);
    }
  }

  async function workOff(): Promise<void> {
    while (queue.length > 0) await writeTogether(queue.splice(0, MAX_TOGETHER));
    working = false;
  }

  return <T>(work: () => Promise<T>): Promise<T> => {
    // What already has a transaction commits with that one.
    if (db.inTransaction) return db.write(work);
    // Groups of several nodes could wait for each other's rows in a circle.
    if (db.engine === 'postgres') return gate(() => db.write(work));
    return new Promise<T>((resolve, reject) => {
      queue.push({ work, resolve: resolve as Waiting['resolve'], reject });
      if (working) return;
      working = true;
      setImmediate(() => void workOff());
    });
  };
}
