import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { LeadRecord } from '../analytics/conversion-record.ts';
import type { Database } from '../db/database.ts';
import { clickRecord, leadRecord, saleRecord } from '../testing/click-records.ts';
import { eachDatabase } from '../testing/databases.ts';
import { createConversionStore } from './conversion.store.ts';
import { type ConversionPlace, createConversionRowsStore } from './conversion-rows.store.ts';

const WORKSPACES = ['ws_1', 'ws_2'];

async function insertWorkspaces(db: Database): Promise<void> {
  for (const id of WORKSPACES)
    await sql`insert into workspace (id, name, slug, plan, default_product, allowed_hostnames, limits, created_at, updated_at)
      values (${id}, ${id}, ${id}, 'pro', 'links', '[]', '{}', 1, 1)`.execute(db.query);
}

eachDatabase('Leads and sales for a rebuild', (databases) => {
  test('come all of them once, as they were recorded, by workspace and time', async () => {
    const db = await databases.open();
    await insertWorkspaces(db);
    const store = createConversionStore(db);
    // Some of the same time, one without metadata.
    const leads = Array.from({ length: 7 }, (_, n) =>
      leadRecord(`lead_${n}`, {
        workspaceId: WORKSPACES[n % 2] ?? '',
        timeMs: 1_000 + (n >> 2),
        metadata: n === 3 ? '' : `{"n":${n}}`,
        click: clickRecord(n),
      }),
    );
    const sales = leads.map((lead, n) =>
      saleRecord(`sale_${n}`, { ...lead, id: `sale_${n}`, invoiceId: n % 2 === 0 ? '' : `inv_${n}` }),
    );
    await store.insertLeads(leads, 'https://example.com/');
    for (const sale of sales) await store.insertSale(sale, { amount: 1, currency: 'eur' });
    const rows = createConversionRowsStore(db);
    assert.deepEqual(await readAll(rows.listLeads), inOrder(leads));
    assert.deepEqual(await readAll(rows.listSales), inOrder(sales));
  });
});

type List<T> = (
  after: ConversionPlace | undefined,
  limit: number,
) => Promise<{ rows: readonly T[]; next: ConversionPlace | undefined }>;

async function readAll<T>(list: List<T>): Promise<T[]> {
  const all: T[] = [];
  let after: ConversionPlace | undefined;
  do {
    const page = await list(after, 2);
    all.push(...page.rows);
    after = page.next;
  } while (after);
  return all;
}

function inOrder<T extends LeadRecord>(records: readonly T[]): T[] {
  const key = ({ workspaceId, timeMs, id }: T) => `${workspaceId} ${timeMs} ${id}`;
  return [...records].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
