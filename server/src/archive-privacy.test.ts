// The files of the archive outlive everything else that knows a visitor: they hold of addresses what the event store
// holds, and lose with it what is erased.
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { extendArchive } from './analytics/archive.ts';
import type { ClickRecord } from './analytics/click-record.ts';
import { openDuckdb } from './analytics/duckdb.ts';
import { openEngine, type Row } from './analytics/duckdb-engine.ts';
import type { IpPrivacy } from './kernel/ip-privacy.ts';
import { type Converting, converting } from './testing/conversion-calls.ts';
import { openTestApp, type TestApp } from './testing/test-app.ts';
import { recordedClicks, visit } from './testing/visitors.ts';

/** Everybody has an address of their own, so that whose it is can be told wherever it turns up. */
const VISITORS: [privacy: IpPrivacy, address: string, kept: string][] = [
  ['standard', '193.99.144.80', ''],
  ['standard', '8.8.8.11', '8.8.8.11'],
  ['keep', '193.99.144.81', '193.99.144.81'],
  ['keep', '2001:4860:4860::8811', '2001:4860:4860::8811'],
  ['truncate', '193.99.144.82', '193.99.144.0'],
  ['truncate', '8.8.8.12', '8.8.8.0'],
  ['truncate', '2001:4860:4860::8812', '2001:4860:4860::'],
  ['drop', '193.99.144.83', ''],
  ['drop', '8.8.8.13', ''],
  ['drop', '2001:4860:4860::8813', ''],
];
const ERASED = ['8.8.8.14', '2001:4860:4860::8814'];
const MEMORY = { threads: 1, memoryMb: 256 };

describe('the archive', () => {
  let t: TestApp;
  let port: number;
  before(async () => {
    t = await openTestApp({ env: { PORT: '0' } });
    port = (await t.app.listen()).address.port;
  });
  after(() => t.close());

  /** This destination is told the address of the visitor, so that it stands there too. */
  const told = (workspace: Converting) => workspace.link({ url: 'https://acme.sng.link/x' });

  async function open(key: string, address: string): Promise<string> {
    const { location } = await visit(port, `/${key}`, { headers: { 'x-forwarded-for': address } });
    assert.ok(location?.includes(`ip=${encodeURIComponent(address)}`), location);
    const click = (await recordedClicks(t.app)).find(({ ip }) => ip === address);
    assert.ok(click);
    return click.id;
  }

  /** What the store has now, and every row of every file once they reach as far. */
  async function archive(): Promise<{ stored: readonly ClickRecord[]; rows: readonly Row[] }> {
    const folder = join(t.app.config.dataDir, 'archive');
    await t.app.events.settle();
    // Without waiting for the time after which it extends the archive; a store has one owner.
    await t.app.events.pipeline.stop();
    const store = await openDuckdb({ path: join(t.app.config.dataDir, 'events.duckdb'), ...MEMORY });
    await extendArchive(store, folder, 1);
    const stored = (await store.listClicks({ limit: 100 })).clicks;
    await store.close();
    t.app.events.pipeline.start();
    assert.deepEqual(
      (await readdir(folder)).filter((name) => !name.endsWith('.parquet')),
      [],
    );
    return { stored, rows: await readFiles(folder) };
  }

  test('holds of addresses what the workspace keeps and the event store has, in every column', async () => {
    const expected = new Map<string, string>();
    for (const privacy of new Set(VISITORS.map(([each]) => each))) {
      const workspace = await converting(t);
      await workspace.settings({ ipPrivacy: privacy });
      const { key } = await told(workspace);
      for (const [of, address, kept] of VISITORS)
        if (of === privacy) expected.set(await open(key, address), kept);
    }
    const { stored, rows } = await archive();
    assert.deepEqual(new Map(rows.map(({ id, ip }) => [id, ip])), expected);
    assert.deepEqual(addressesOf(stored), addressesOf(rows));
    for (const [, address, kept] of VISITORS)
      assert.deepEqual(columnsWith(rows, address), kept === address ? ['ip', 'url'] : [], address);
  });

  test('loses the addresses of an erased customer from the files that had them', async () => {
    const workspace = await converting(t);
    await workspace.settings({ ipPrivacy: 'keep' });
    const { key } = await told(workspace);
    for (const address of ERASED)
      await workspace.lead({ clickId: await open(key, address), customerExternalId: address });
    const before = await archive();
    for (const address of ERASED) assert.deepEqual(columnsWith(before.rows, address), ['ip', 'url']);

    for (const address of ERASED) await workspace.call('DELETE', `/customers/ext_${address}`);
    const afterwards = await archive();
    assert.equal(afterwards.rows.length, before.rows.length);
    assert.deepEqual(addressesOf(afterwards.stored), addressesOf(afterwards.rows));
    const leads = await workspace.rows('lead');
    assert.equal(leads.length, ERASED.length);
    for (const address of ERASED)
      assert.deepEqual(columnsWith([...afterwards.rows, ...leads], address), [], address);
  });
});

/** By DuckDB itself, whatever the names of the files say. */
async function readFiles(folder: string): Promise<Row[]> {
  const engine = await openEngine({ path: ':memory:', ...MEMORY });
  try {
    const connection = await engine.connect();
    return await connection.rows(`select * from read_parquet('${folder}/*.parquet', union_by_name = true)`);
  } finally {
    engine.close();
  }
}

function addressesOf(clicks: readonly { id?: unknown; ip?: unknown; url?: unknown }[]) {
  return clicks.map(({ id, ip, url }) => [id, ip, url].map(String)).sort();
}

/** The columns in which the address stands somewhere, as it is or as part of an address of the web. */
function columnsWith(rows: readonly Row[], address: string): string[] {
  const forms = [address, encodeURIComponent(address)];
  const found = rows.flatMap((row) =>
    Object.entries(row)
      .filter(([, value]) => forms.some((form) => String(value).includes(form)))
      .map(([name]) => name),
  );
  return [...new Set(found)].sort();
}
