// A link as analytics filters and groups by it: its current attributes, taken from the events of its changes.
// What belongs to its partner is not here: a partner has a row of its own.
import type { Change } from '../events/event.ts';
import { ROOT_KEY } from '../links/link.ts';
import { readPayload } from './payload.ts';

export interface LinkRow {
  readonly id: string;
  readonly workspaceId: string;
  readonly domain: string;
  readonly key: string;
  /** Empty where the link has none, as the following. */
  readonly folderId: string;
  readonly tenantId: string;
  readonly partnerId: string;
  readonly programId: string;
  readonly tagIds: readonly string[];
  readonly root: boolean;
  readonly deleted: boolean;
  /** Grows with every change: an earlier one that comes again is ignored. */
  readonly changeId: number;
}

const LINK_CHANGES = new Set(['link.created', 'link.updated', 'link.deleted']);

/** The part of a link's wire form that is read here. */
interface LinkPayload {
  readonly id: string;
  readonly domain: string;
  readonly key: string;
  readonly folderId?: string | null;
  readonly tenantId?: string | null;
  readonly partnerId?: string | null;
  readonly programId?: string | null;
  readonly tags?: readonly { readonly id: string }[] | null;
}

/** The links that the change is about; none when it cannot be read. */
export function readLinkChanges(change: Change): LinkRow[] {
  if (change.type === 'links.imported') {
    const imported = readPayload<{ links?: readonly LinkPayload[] }>(change.payload, [])?.links ?? [];
    return imported.filter(isNamed).map((link) => toRow(link, change));
  }
  if (!LINK_CHANGES.has(change.type)) return [];
  const link = readPayload<LinkPayload>(change.payload, ['id', 'domain', 'key']);
  return link ? [toRow(link, change)] : [];
}

function isNamed({ id, domain, key }: LinkPayload): boolean {
  return [id, domain, key].every((text) => typeof text === 'string');
}

function toRow(link: LinkPayload, { type, workspaceId, outboxId }: Change): LinkRow {
  return {
    id: link.id,
    workspaceId,
    domain: link.domain,
    key: link.key,
    folderId: link.folderId ?? '',
    tenantId: link.tenantId ?? '',
    partnerId: link.partnerId ?? '',
    programId: link.programId ?? '',
    tagIds: (link.tags ?? []).map(({ id }) => id),
    root: link.key === ROOT_KEY,
    deleted: type === 'link.deleted',
    changeId: outboxId,
  };
}

/** The latest state of each link, or of whatever else `idOf` tells apart. */
export function latestRows<T extends { readonly changeId: number }>(
  rows: readonly T[],
  idOf: (row: T) => string,
): T[] {
  const latest = new Map<string, T>();
  for (const row of rows) {
    const id = idOf(row);
    const known = latest.get(id);
    if (!known || known.changeId <= row.changeId) latest.set(id, row);
  }
  return [...latest.values()];
}
