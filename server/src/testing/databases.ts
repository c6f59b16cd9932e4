// Databases for tests: runs a suite once per engine, on fresh databases that are closed and removed after it.
// PostgreSQL takes part when LINKTRAIL_TEST_POSTGRES holds a connection URL; a skip says so loudly.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { sql } from 'kysely';
import { type Database, type DatabaseOptions, openDatabase } from '../db/database.ts';
import { migrate } from '../db/migrate.ts';
import { systemClock } from '../kernel/clock.ts';
import { silentLog } from '../kernel/log.ts';

export interface TestDatabases {
  readonly engine: Database['engine'];
  /** A fresh database with all tables. */
  open(): Promise<Database>;
  /** The address of a fresh database without tables. */
  place(): Promise<string>;
  /** One more handle on a database, as another node would have it. */
  openAt(url: string, options?: Partial<DatabaseOptions>): Promise<Database>;
}

/** Defines the suite for every engine. */
export function eachDatabase(name: string, suite: (databases: TestDatabases) => void): void {
  describeOn(`${name} on SQLite`, suite, () => testDatabases('sqlite', sqlitePlaces()));
  onPostgres(name, suite);
}

/** The suite is a level below the databases: its own clean-up must be over before they are removed. */
function describeOn(
  name: string,
  suite: (databases: TestDatabases) => void,
  makeDatabases: () => TestDatabases,
): void {
  describe(name, () => {
    const databases = makeDatabases();
    describe('suite', () => suite(databases));
  });
}

export function onPostgres(name: string, suite: (databases: TestDatabases) => void): void {
  const url = process.env.LINKTRAIL_TEST_POSTGRES;
  if (url) {
    describeOn(`${name} on PostgreSQL`, suite, () => testDatabases('postgres', postgresPlaces(url)));
    return;
  }
  const reason = 'PostgreSQL not available, set LINKTRAIL_TEST_POSTGRES to a connection URL';
  test(`${name} on PostgreSQL`, process.env.LINKTRAIL_REQUIRE_ENGINES === '1' ? {} : { skip: reason }, () => {
    throw new Error(reason);
  });
}

interface Places {
  create(): Promise<string>;
  remove(): Promise<void>;
}

function testDatabases(engine: Database['engine'], places: Places): TestDatabases {
  const opened: Database[] = [];
  after(async () => {
    for (const db of opened) await db.close();
    await places.remove();
  });

  async function openAt(url: string, options: Partial<DatabaseOptions> = {}): Promise<Database> {
    const db = await openDatabase({ log: silentLog, ...options, url });
    opened.push(db);
    return db;
  }

  return {
    engine,
    place: () => places.create(),
    openAt,
    async open() {
      const db = await openAt(await places.create());
      await migrate(db, { clock: systemClock });
      return db;
    },
  };
}

function sqlitePlaces(): Places {
  const folders: string[] = [];
  return {
    async create() {
      const folder = await mkdtemp(join(tmpdir(), 'linktrail-test-'));
      folders.push(folder);
      return join(folder, 'linktrail.db');
    },
    async remove() {
      for (const folder of folders) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A schema of its own in the given database stands for a database. */
function postgresPlaces(url: string): Places {
  const schemas: string[] = [];

  async function run(statements: string[]): Promise<void> {
    const admin = await openDatabase({ url, log: silentLog, postgres: { poolSize: 1 } });
    try {
      for (const statement of statements) await sql.raw(statement).execute(admin.query);
    } finally {
      await admin.close();
    }
  }

  return {
    async create() {
      const schema = `test_${randomBytes(8).toString('hex')}`;
      await run([`create schema ${schema}`]);
      schemas.push(schema);
      const place = new URL(url);
      place.searchParams.set('options', `-c search_path=${schema}`);
      place.searchParams.set('application_name', schema);
      return place.href;
    },
    remove: () => run(schemas.map((schema) => `drop schema ${schema} cascade`)),
  };
}
