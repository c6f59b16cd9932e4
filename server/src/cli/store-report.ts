// What the doctor wants to know of the operational store: which shape it has and how its times compare.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Config } from '../config.ts';
import { type Database, openDatabase } from '../db/database.ts';
import { migrations } from '../db/migrations.ts';
import type { Clock } from '../kernel/clock.ts';
import { silentLog } from '../kernel/log.ts';

export interface StoreReport {
  readonly engine: Database['engine'];
  /** The newest migration in the store; 0 when it has no tables yet. */
  readonly schema: number;
  /** The newest migration that this program knows. */
  readonly knownSchema: number;
  /** How far the store's own clock is ahead of this process; null where both are one. */
  readonly clockAheadMs: number | null;
  /** The latest time found in a few small tables; 0 when the store has another shape. */
  readonly newestRowMs: number;
}

export async function reportStore(db: Database, clock: Clock): Promise<StoreReport> {
  const schema = await newestMigration(db);
  const knownSchema = migrations.at(-1)?.id ?? 0;
  return {
    engine: db.engine,
    schema,
    knownSchema,
    clockAheadMs: db.engine === 'postgres' ? await clockAhead(db, clock) : null,
    newestRowMs: schema === knownSchema ? await newestRow(db) : 0,
  };
}

async function newestMigration(db: Database): Promise<number> {
  const tables =
    db.engine === 'postgres'
      ? sql<{ found: number }>`select count(to_regclass('schema_migration')) as found`
      : sql<{ found: number }>`select count(*) as found from sqlite_master where name = 'schema_migration'`;
  const { rows: found } = await tables.execute(db.query);
  if (Number(found[0]?.found) === 0) return 0;
  const { rows } = await sql<{ id: number | null }>`select max(id) as id from schema_migration`.execute(
    db.query,
  );
  return rows[0]?.id ?? 0;
}

async function clockAhead(db: Database, clock: Clock): Promise<number> {
  const beforeMs = clock.now();
  const { rows } = await sql<{
    ms: number;
  }>`select cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as ms`.execute(db.query);
  return (rows[0]?.ms ?? 0) - (beforeMs + clock.now()) / 2;
}

/** Workspaces are few and the outbox is read from its end: the cost does not grow with the data. */
async function newestRow(db: Database): Promise<number> {
  const { rows } = await sql<{ ms: number | null }>`
    select max(ms) as ms from (
      select max(applied_at) as ms from schema_migration
      union all select max(created_at) from workspace
      union all select created_at from (select created_at from outbox order by id desc limit 1) as last_event
    ) as times`.execute(db.query);
  return rows[0]?.ms ?? 0;
}

/** Opens the store beside no server, changing nothing; undefined when there is none yet. */
export async function openStoreReport(config: Config, clock: Clock): Promise<StoreReport | undefined> {
  const url = config.databaseUrl ?? join(config.dataDir, 'linktrail.db');
  if (!config.databaseUrl && !existsSync(url)) return undefined;
  const db = await openDatabase({ url, log: silentLog, postgres: { poolSize: 1 } });
  try {
    return await reportStore(db, clock);
  } finally {
    await db.close();
  }
}
