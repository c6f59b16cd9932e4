// What an engine gives to database.ts: SQL text in, rows out, and transactions. Everything that is the same
// on every engine is above this line.
import type { DatabaseConnection, Dialect, Driver } from 'kysely';

export interface Engine {
  readonly name: 'sqlite' | 'postgres';
  readonly dialect: Dialect;
  /** For statements outside a transaction, any number at a time; it sees committed state only. */
  readonly connection: DatabaseConnection;
  begin(options: { waitMs?: number }): Promise<EngineTransaction>;
  readonly waitingWrites: number;
  /** Where several nodes share the store: hears what others notify. Resolves when it does. */
  listen?(listener: NoticeListener): Promise<void>;
  close(): Promise<void>;
}

/** Who it is for, and a short text. */
export type Notice = readonly [name: string, text: string];

export interface NoticeListener {
  receive(notices: readonly Notice[]): void;
  /** Listening was interrupted and goes on: notices may have been missed. */
  lost(): void;
}

/** Ends exactly once, by commit or rollback; both give back what it held, even when they fail. */
export interface EngineTransaction {
  readonly connection: DatabaseConnection;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  /** Sent to every listening node when the transaction commits. */
  notify?(notices: readonly Notice[]): Promise<void>;
}

/** Kysely's own transactions would pass by the rules of Database.write: they are refused. */
export function refusingDriver(): Driver {
  const refuse = () => Promise.reject(new Error('Transactions go through Database.write'));
  return {
    init: async () => {},
    acquireConnection: refuse,
    beginTransaction: refuse,
    commitTransaction: refuse,
    rollbackTransaction: refuse,
    releaseConnection: async () => {},
    destroy: async () => {},
  };
}
