// Moves the outbox into the journal, so that changes of the SQL store travel like clicks. A row is deleted once
// its record is safe on disk; after a crash it may be relayed again, and its id says so to whoever reads it. What
// else is to come of a row comes of it in the transaction that deletes it: exactly once, whichever node does it.
import type { Selectable } from 'kysely';
import type { Database } from '../db/database.ts';
import type { Schema } from '../db/schema.ts';
import { createEventEncoder } from '../events/event.ts';
import type { Journal } from '../events/journal.ts';
import type { Log } from '../kernel/log.ts';

type Row = Selectable<Schema['outbox']>;

export interface OutboxRelay {
  start(): void;
  /** Relays everything that is there. Resolves to how many rows went. */
  run(): Promise<number>;
  /** Waits for what is under way. */
  stop(): Promise<void>;
}

/** A row as it was when it left the outbox; both texts are JSON. */
export interface RelayedChange {
  readonly workspaceId: string;
  readonly type: string;
  readonly payload: string;
  readonly webhook: string | null;
}

export interface OutboxRelayOptions {
  readonly db: Database;
  readonly journal: Pick<Journal, 'append' | 'sync'>;
  readonly log: Log;
  /** Told of the rows that this node deletes, in the transaction that does. */
  readonly take?: (changes: readonly RelayedChange[]) => Promise<void>;
  /** How often to look. */
  readonly everyMs?: number;
  readonly batch?: number;
}

export function createOutboxRelay({
  db,
  journal,
  log,
  take = async () => {},
  everyMs = 200,
  batch = 500,
}: OutboxRelayOptions): OutboxRelay {
  const encoder = createEventEncoder();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<number> | undefined;
  let next: Promise<number> | undefined;
  let failing = false;
  let stopped = false;

  /** One batch; undefined when the journal did not take it. */
  async function step(): Promise<number | undefined> {
    const rows = await db.query.selectFrom('outbox').selectAll().orderBy('id').limit(batch).execute();
    if (rows.length === 0) return 0;
    const stored = rows.map(({ id, workspace_id, type, payload, created_at }) =>
      journal.append(
        encoder.change({ outboxId: id, workspaceId: workspace_id, type, payload, createdAtMs: created_at }),
      ),
    );
    if (!(await Promise.all(stored)).every(Boolean) || !(await journal.sync())) return undefined;
    await db.write(() => remove(rows));
    return rows.length;
  }

  /** Rows that another node has deleted meanwhile are that node's; what may have changed is taken as it is now. */
  async function remove(rows: readonly Row[]): Promise<void> {
    const ids = rows.map(({ id }) => id);
    // Only this column ever changes: data of a person that is to be forgotten is taken out of it.
    const gone = await db.query
      .deleteFrom('outbox')
      .where('id', 'in', ids)
      .returning(['id', 'webhook'])
      .execute();
    const webhooks = new Map(gone.map(({ id, webhook }) => [id, webhook]));
    await take(
      rows.flatMap(({ id, workspace_id, type, payload }) => {
        const webhook = webhooks.get(id);
        return webhook === undefined ? [] : [{ workspaceId: workspace_id, type, payload, webhook }];
      }),
    );
  }

  async function runAll(): Promise<number> {
    let total = 0;
    for (;;) {
      const moved = await step();
      if (moved === undefined) throw new Error('The journal does not take records');
      total += moved;
      if (moved < batch || stopped) return total;
    }
  }

  function begin(): Promise<number> {
    running = runAll().finally(() => {
      running = undefined;
    });
    return running;
  }

  function run(): Promise<number> {
    if (!running) return begin();
    // What runs now may have looked before the caller's rows were there.
    next ??= running
      .catch(() => 0)
      .then(() => {
        next = undefined;
        return running ?? begin();
      });
    return next;
  }

  async function tick(): Promise<void> {
    try {
      await run();
      failing = false;
    } catch (error) {
      if (!failing)
        log.warn({ error: String(error) }, 'Changes cannot be relayed at present; it is tried again.');
      failing = true;
    }
    if (!stopped) timer = setTimeout(tick, everyMs);
  }

  return {
    start() {
      timer ??= setTimeout(tick, 0);
    },
    run,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await Promise.allSettled([running, next]);
    },
  };
}
