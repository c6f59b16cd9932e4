// How far a sink that writes SQL has come with the journal. The step is stored in the transaction of what the
// sink wrote and only from the place it began at, so two that hold the same batch cannot both store it.
import type { Clock } from '../kernel/clock.ts';
import type { Database } from './database.ts';

export interface SinkOffsets {
  /** Positions are texts whose order is their order in the journal. */
  find(name: string): Promise<string | undefined>;
  /** Call it in the transaction of the batch; throws when the sink is not at `from` (any more). */
  advance(name: string, from: string | undefined, to: string): Promise<void>;
}

export function createSinkOffsets({ db, clock }: { db: Database; clock: Clock }): SinkOffsets {
  async function move(name: string, from: string, to: string): Promise<boolean> {
    const { numUpdatedRows } = await db.query
      .updateTable('sink_offset')
      .set({ position: to, updated_at: clock.now() })
      .where('name', '=', name)
      .where('position', '=', from)
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }

  async function begin(name: string, to: string): Promise<boolean> {
    const { numInsertedOrUpdatedRows } = await db.query
      .insertInto('sink_offset')
      .values({ name, position: to, updated_at: clock.now() })
      .onConflict((oc) => oc.column('name').doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n;
  }

  return {
    async find(name) {
      const row = await db.query
        .selectFrom('sink_offset')
        .select('position')
        .where('name', '=', name)
        .executeTakeFirst();
      return row?.position;
    },
    async advance(name, from, to) {
      if (await (from === undefined ? begin(name, to) : move(name, from, to))) return;
      throw new Error(`The sink ${name} is no longer at ${from ?? 'the beginning'}`);
    },
  };
}
