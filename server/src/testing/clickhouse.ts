// ClickHouse for tests: fresh databases on the server that LINKTRAIL_TEST_CLICKHOUSE names, removed after the suite.
// Without one the suite is skipped, and a skip says so loudly.
import { randomBytes } from 'node:crypto';
import { after, describe, test } from 'node:test';

export interface ClickhousePlaces {
  /** The address of a database that nobody has made yet. */
  place(): string;
  /** Runs a statement there, past everything that is tested. */
  run(place: string, sql: string): Promise<string>;
}

export function onClickhouse(name: string, suite: (places: ClickhousePlaces) => void): void {
  const url = process.env.LINKTRAIL_TEST_CLICKHOUSE;
  if (url) {
    describe(`${name} on ClickHouse`, () => {
      const places = createPlaces(url);
      // A level below: its own clean-up must be over before the databases are removed.
      describe('suite', () => suite(places));
    });
    return;
  }
  const reason =
    'ClickHouse not available, set LINKTRAIL_TEST_CLICKHOUSE to the address of its HTTP interface';
  test(`${name} on ClickHouse`, process.env.LINKTRAIL_REQUIRE_ENGINES === '1' ? {} : { skip: reason }, () => {
    throw new Error(reason);
  });
}

function createPlaces(url: string): ClickhousePlaces {
  const databases: string[] = [];
  after(async () => {
    for (const database of databases) await run(url, `drop database if exists ${database} sync`);
  });

  async function run(place: string, sql: string): Promise<string> {
    const { origin, pathname, username, password } = new URL(place);
    const database = pathname.slice(1) || 'default';
    const response = await fetch(`${origin}/?database=${database}`, {
      method: 'POST',
      body: sql,
      headers: username ? { 'X-ClickHouse-User': username, 'X-ClickHouse-Key': password } : {},
    });
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return text.trimEnd();
  }

  return {
    run,
    place() {
      const database = `test_${randomBytes(8).toString('hex')}`;
      databases.push(database);
      const place = new URL(url);
      place.pathname = `/${database}`;
      return place.href;
    },
  };
}
