// What changes of the SQL store mean for the event store: rows of links and partners, leads, sales, erasures.
import type { Change } from '../events/event.ts';
import type { ClickRecord } from './click-record.ts';
import type {
  CustomerErased,
  LeadRecord,
  LeadsCreated,
  SaleRecord,
  SalesCreated,
} from './conversion-record.ts';
import { latestRows, readLinkChanges } from './link-row.ts';
import { type PackedClicks, unpackClicks } from './packed-clicks.ts';
import { readPartnerChange } from './partner-row.ts';
import { readPayload } from './payload.ts';
import type { Erasure, EventBatch } from './store.ts';

/** Changes that nobody here needs, or that cannot be read, are passed over. */
export function readChanges(changes: readonly Change[]): Required<Omit<EventBatch, 'clicks'>> {
  const links = changes.flatMap(readLinkChanges);
  const partners = changes.flatMap((change) => readPartnerChange(change) ?? []);
  return {
    links: latestRows(links, ({ id }) => id),
    partners: latestRows(partners, ({ workspaceId, partnerId }) => `${workspaceId} ${partnerId}`),
    importedClicks: firstOfEach(changes.flatMap(readImportedClicks)),
    leads: firstOfEach(changes.flatMap(readLeads)),
    sales: firstOfEach(changes.flatMap(readSales)),
    erasures: changes.flatMap((change) => readErasure(change) ?? []),
  };
}

/** Enriched and filtered by the instance that they come from. */
function readImportedClicks({ type, payload }: Change): ClickRecord[] {
  if (type !== 'clicks.imported') return [];
  const packed = readPayload<PackedClicks>(payload, []);
  const clicks = packed?.columns ? unpackClicks(packed) : [];
  return clicks.filter(({ id, timeMs }) => typeof id === 'string' && Number.isSafeInteger(timeMs));
}

function readLeads({ type, payload }: Change): LeadRecord[] {
  if (type !== 'lead.created' && type !== 'leads.imported') return [];
  return (readPayload<LeadsCreated>(payload, [])?.leads ?? []).filter(isStorable);
}

function readSales({ type, payload }: Change): SaleRecord[] {
  if (type !== 'sale.created' && type !== 'sales.imported') return [];
  const sales = readPayload<SalesCreated>(payload, [])?.sales ?? [];
  return sales.filter((sale) => isStorable(sale) && Number.isSafeInteger(sale.amount));
}

/** What the engine could not take for a row. */
function isStorable({ id, timeMs, click }: LeadRecord): boolean {
  return typeof id === 'string' && Number.isSafeInteger(timeMs) && Number.isSafeInteger(click?.timeMs);
}

function readErasure({ type, payload, workspaceId }: Change): Erasure | undefined {
  if (type !== 'customer.erased') return undefined;
  const erased = readPayload<CustomerErased>(payload, ['customerId']);
  return erased && { workspaceId, customerId: erased.customerId, clickIds: erased.clickIds ?? [] };
}

function firstOfEach<T extends { readonly id: string }>(records: readonly T[]): T[] {
  const first = new Map<string, T>();
  for (const record of records) if (!first.has(record.id)) first.set(record.id, record);
  return [...first.values()];
}
