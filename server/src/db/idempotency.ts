// Stored answers for Idempotency-Key. The row goes into the transaction of the work itself: a concurrent
// repeat waits for it in the database, a crash takes both with it.
import { sql } from 'kysely';
import type { Answer, AnswerStore, Slot, StoredAnswer } from '../kernel/answer.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import { type Database, StoreBusyError } from './database.ts';
import { contains } from './like.ts';

export function createAnswerStore({ db, clock }: { db: Database; clock: Clock }): AnswerStore {
  async function find(scope: string, key: string): Promise<StoredAnswer | undefined> {
    const row = await db.query
      .selectFrom('idempotency')
      .select(['fingerprint', 'status', 'body'])
      .where('scope', '=', scope)
      .where('key', '=', key)
      .executeTakeFirst();
    return row && { fingerprint: row.fingerprint, status: row.status ?? 0, body: row.body };
  }

  async function insert(slot: Slot, answer: Answer | undefined): Promise<boolean> {
    const { numInsertedOrUpdatedRows } = await db.query
      .insertInto('idempotency')
      .values({
        scope: slot.scope,
        key: slot.key,
        fingerprint: slot.fingerprint,
        status: answer?.status ?? null,
        body: answer?.body ?? null,
        created_at: clock.now(),
      })
      .onConflict((conflict) => conflict.columns(['scope', 'key']).doNothing())
      .executeTakeFirst();
    return Number(numInsertedOrUpdatedRows) === 1;
  }

  async function runInside(
    slot: Slot,
    work: () => Promise<Answer>,
  ): Promise<Answer | { stored: StoredAnswer }> {
    if (!(await insert(slot, undefined)))
      return { stored: (await find(slot.scope, slot.key)) as StoredAnswer };
    const answer = await work();
    await db.query
      .updateTable('idempotency')
      .set({ status: answer.status, body: slot.secret ? null : answer.body })
      .where('scope', '=', slot.scope)
      .where('key', '=', slot.key)
      .execute();
    return answer;
  }

  return {
    find,
    async once(slot, waitMs, work) {
      try {
        return await db.write(() => runInside(slot, work), { waitMs });
      } catch (error) {
        if (!(error instanceof StoreBusyError)) throw error;
        throw new AppError('conflict', 'A request with this Idempotency-Key is still running.', {
          cause: error,
        });
      }
    },
    async keep(slot, answer) {
      await insert(slot, answer);
    },
  };
}

/** Deletes answers stored before that time, a bounded batch at a time; returns how many went. */
export async function pruneAnswers(db: Database, beforeMs: number, batch = 1_000): Promise<number> {
  let total = 0;
  for (;;) {
    const deleted = await db.write(async (trx) => {
      const last = await trx
        .selectFrom('idempotency')
        .select('created_at')
        .where('created_at', '<', beforeMs)
        .orderBy('created_at')
        .offset(batch - 1)
        .limit(1)
        .executeTakeFirst();
      const { numDeletedRows } = await trx
        .deleteFrom('idempotency')
        .where('created_at', '<=', last?.created_at ?? beforeMs - 1)
        .executeTakeFirst();
      return Number(numDeletedRows);
    });
    total += deleted;
    if (deleted < batch) return total;
  }
}

const ANSWERS_PER_STEP = 1_000;

/** Forgets the answers of a scope that hold all texts of one of these lists: their repeats are still refused. */
export async function eraseAnswers(
  db: Database,
  scope: string,
  lists: readonly (readonly string[])[],
): Promise<void> {
  let after = '';
  for (let last: string | undefined = ''; last !== undefined; ) {
    last = await db.write(async (trx) => {
      const rest = () => trx.selectFrom('idempotency').select('key').where('scope', '=', scope);
      const end = await rest()
        .where('key', '>', after)
        .orderBy('key')
        .offset(ANSWERS_PER_STEP - 1)
        .limit(1)
        .executeTakeFirst();
      let update = trx
        .updateTable('idempotency')
        .set({ body: null })
        .where('scope', '=', scope)
        .where('key', '>', after)
        .where(({ or, and }) =>
          or(lists.map((texts) => and(texts.map((text) => contains(sql.ref('body'), text))))),
        );
      if (end) update = update.where('key', '<=', end.key);
      await update.execute();
      return end?.key;
    });
    after = last ?? after;
  }
}
