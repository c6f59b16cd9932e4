// The operational store, the same on SQLite and PostgreSQL. One transaction is one call of write(): everything
// in it commits or nothing does, calls inside it join it, and `query` anywhere below it is that transaction.
// A statement that fails inside a transaction fails the whole of it, even when the error was caught.
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type CompiledQuery,
  type ConnectionProvider,
  type DatabaseConnection,
  DefaultQueryExecutor,
  Kysely,
  type QueryResult,
  sql,
} from 'kysely';
import type { Log } from '../kernel/log.ts';
import type { Engine, Notice } from './engine.ts';
import { createPostgresEngine, type PostgresOptions } from './postgres.ts';
import type { Schema } from './schema.ts';
import { createSqliteEngine, type SqliteOptions } from './sqlite-engine.ts';
import { findStoreError, StoreError, type StoreFailure } from './store-error.ts';

export { StoreBusyError } from './store-error.ts';

export type Queries = Kysely<Schema>;

/** What happened in a transaction, as the outbox has it. */
export interface CommittedEvent {
  readonly workspaceId: string;
  readonly type: string;
  /** Goes through the journal: it must hold no name and no e-mail address of a person. */
  readonly payload: unknown;
  /** What receivers of webhooks get, where that is not the payload; it may hold personal data. */
  readonly webhook?: unknown;
  /** What was there before, for those who keep something by it. Not stored. */
  readonly previous?: unknown;
}

/** Somebody who keeps a copy of what is in the store, on this node or another. */
export interface Follower {
  /** Tells followers apart: the same name on every node. */
  readonly name: string;
  /** What followers have to know of an event, as short text; undefined when it does not concern them. */
  digest(event: CommittedEvent): string | undefined;
  /**
   * Digests of a committed transaction. On the node that wrote, this comes before the write's caller goes on;
   * on others as soon as they hear of it. It may come twice. Must not throw.
   */
  receive(digests: readonly string[]): void;
  /** Digests of other nodes may have been missed. */
  lost(): void;
}

export interface WriteOptions {
  /** Longest wait for locks; after it the write fails with StoreBusyError. Ignored when it joins another. */
  waitMs?: number;
}

export interface Database {
  readonly engine: Engine['name'];
  /** Inside write() (anywhere down the async call chain) it is that transaction; elsewhere it sees the last committed state. */
  readonly query: Queries;
  /** Whether the code that asks runs inside write(). */
  readonly inTransaction: boolean;
  /** Runs work in one transaction; inside another write() it joins it. May run work again after a deadlock. */
  write<T>(work: (trx: Queries) => Promise<T>, options?: WriteOptions): Promise<T>;
  /** Runs the callback once the present transaction is committed, before write() resolves; never after a rollback. */
  afterCommit(callback: () => void): void;
  /** Resolves when nothing that is committed from then on, here or on another node, can be missed. */
  follow(follower: Follower): Promise<void>;
  /** Cheap; rejects when the store cannot be reached. */
  ping(): Promise<void>;
  stats(): { waitingWrites: number };
  /** Waits for the writes under way; later ones are refused. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** `postgres://…`, or the path of an SQLite file. */
  url: string;
  log: Log;
  sqlite?: SqliteOptions;
  postgres?: PostgresOptions;
}

/** Opens the store and makes sure that it answers; it does not migrate. */
export async function openDatabase({ url, log, sqlite, postgres }: DatabaseOptions): Promise<Database> {
  const engine = /^postgres(ql)?:\/\//.test(url)
    ? createPostgresEngine(url, postgres ?? {}, log)
    : createSqliteEngine(url, sqlite ?? {}, log);
  const db = createDatabase(engine);
  try {
    await db.ping();
  } catch (error) {
    await engine.close().catch(() => {});
    throw error;
  }
  return db;
}

interface TransactionState {
  readonly events: CommittedEvent[];
  readonly callbacks: (() => void)[];
  over: boolean;
  /** The first thing that failed in it: after that it can only be rolled back. */
  failure: { error: unknown } | undefined;
}

/** The transaction that the code down the call chain runs in. */
interface Ambient {
  trx: Queries;
  state: TransactionState;
}

const ATTEMPTS = 4;

/** The events of each transaction, by the handle that its code has. */
const eventsOf = new WeakMap<Queries, CommittedEvent[]>();

/** Tells followers of these events when the transaction commits. */
export function announce(trx: Queries, events: readonly CommittedEvent[]): void {
  const list = eventsOf.get(trx);
  if (!list) throw new Error('Events belong into the transaction of the change that they tell of');
  for (const event of events) list.push(event);
}

export function createDatabase(engine: Engine): Database {
  const ambient = new AsyncLocalStorage<Ambient>();
  const queriesOn = createQueries(engine);
  const plain = queriesOn(engine.connection);
  const underWay = new Set<Promise<unknown>>();
  const followers = createFollowers(engine);
  let closed: Promise<void> | undefined;

  function current(): Ambient | undefined {
    const store = ambient.getStore();
    // Work that was started inside a transaction and outlives it goes on outside of it.
    return store?.state.over ? undefined : store;
  }

  async function write<T>(work: (trx: Queries) => Promise<T>, options: WriteOptions = {}): Promise<T> {
    const outer = current();
    if (outer) return join(outer, work);
    if (closed) throw new StoreError('closed', 'The database is closed');
    const running = withRetries(() => runOnce(work, options));
    underWay.add(running);
    return running.finally(() => underWay.delete(running));
  }

  async function runOnce<T>(work: (trx: Queries) => Promise<T>, options: WriteOptions): Promise<T> {
    const transaction = await engine.begin(options);
    const state: TransactionState = { events: [], callbacks: [], over: false, failure: undefined };
    const trx = queriesOn(watched(transaction.connection, state));
    eventsOf.set(trx, state.events);
    let result: T;
    let notices: readonly Notice[];
    try {
      result = await ambient.run({ trx, state }, () => work(trx));
      if (state.failure) throw state.failure.error;
      notices = followers.digest(state.events);
      if (notices.length > 0) await transaction.notify?.(notices);
    } catch (error) {
      state.over = true;
      // A rollback fails only with the connection, and then the engine rolls back by itself.
      await transaction.rollback().catch(() => {});
      throw error;
    }
    state.over = true;
    await transaction.commit();
    followers.receive(notices);
    for (const callback of state.callbacks) callback();
    return result;
  }

  return {
    engine: engine.name,
    get query() {
      return current()?.trx ?? plain;
    },
    get inTransaction() {
      return current() !== undefined;
    },
    write,
    afterCommit(callback) {
      const outer = current();
      if (outer) outer.state.callbacks.push(callback);
      else callback();
    },
    follow: followers.add,
    async ping() {
      await sql`select 1`.execute(plain);
    },
    stats: () => ({ waitingWrites: engine.waitingWrites }),
    close() {
      closed ??= Promise.allSettled(underWay).then(() => engine.close());
      return closed;
    },
  };
}

/** Everyone who follows this store, and the way to those who follow it from other nodes. */
function createFollowers(engine: Engine) {
  const followers: Follower[] = [];
  let listening: Promise<void> | undefined;

  function receive(notices: readonly Notice[]): void {
    for (const follower of followers) {
      const own = notices.filter(([name]) => name === follower.name);
      if (own.length > 0) follower.receive(own.map(([, text]) => text));
    }
  }

  return {
    receive,
    digest: (events: readonly CommittedEvent[]): Notice[] =>
      followers.flatMap((follower) =>
        events.flatMap((event): Notice[] => {
          const text = follower.digest(event);
          return text === undefined ? [] : [[follower.name, text]];
        }),
      ),
    async add(follower: Follower): Promise<void> {
      followers.push(follower);
      const lost = () => {
        for (const each of followers) each.lost();
      };
      listening ??= engine.listen?.({ receive, lost });
      await listening;
    },
  };
}

async function join<T>(outer: Ambient, work: (trx: Queries) => Promise<T>): Promise<T> {
  try {
    return await work(outer.trx);
  } catch (error) {
    // Half of the inner work may be done: the outer one must not commit it by catching the error.
    outer.state.failure ??= { error };
    throw error;
  }
}

function watched(connection: DatabaseConnection, state: TransactionState): DatabaseConnection {
  return {
    ...connection,
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      if (state.failure) throw state.failure.error;
      try {
        return await connection.executeQuery<R>(query);
      } catch (error) {
        state.failure ??= { error };
        throw error;
      }
    },
  };
}

async function withRetries<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      if (attempt === ATTEMPTS || findStoreError(error)?.failure !== 'conflict') throw error;
    }
  }
}

/** Kysely over a given connection: what it needs apart from that is made once. */
function createQueries({ dialect }: Engine): (connection: DatabaseConnection) => Queries {
  const compiler = dialect.createQueryCompiler();
  const adapter = dialect.createAdapter();
  const driver = dialect.createDriver();
  const config = { dialect };
  return (connection) => {
    const provider: ConnectionProvider = { provideConnection: (consumer) => consumer(connection) };
    const executor = new DefaultQueryExecutor(compiler, adapter, provider);
    return new Kysely<Schema>({ config, dialect, driver, executor });
  };
}

export function isUniqueViolation(error: unknown): boolean {
  return findStoreError(error)?.failure === 'unique';
}

const PUBLIC_TEXT: Partial<Record<StoreFailure, string>> = {
  busy: 'The database is busy.',
  conflict: 'The database is busy.',
  full: 'The database is full.',
  unreachable: 'The database cannot be reached.',
  readonly: 'The database cannot be written to.',
  damaged: 'The database is damaged.',
  closed: 'The database is closed.',
};

/** A short public text for failures that are the store's own and not the caller's. */
export function describeStoreFailure(error: unknown): string | undefined {
  const failure = findStoreError(error)?.failure;
  return failure && PUBLIC_TEXT[failure];
}
