// A link as analytics filters and groups by it: its current attributes, taken from the events of its changes.
// What belongs to its partner is not here: a partner has a row of its own.
import type { Change } from '../events/event.ts';
import { ROOT_KEY } from '../links/link.ts';

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

/** Undefined when the change is not one of a link, or cannot be read. */
export function readLinkChange({ type, payload: text, workspaceId, outboxId }: Change): LinkRow | undefined {
  if (!LINK_CHANGES.has(type)) return undefined;
  const link = parse(text);
  if (!link) return undefined;
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

/** The payload is our own: only what would spoil a whole batch is checked. */
function parse(text: string): LinkPayload | undefined {
  try {
    const value = JSON.parse(text) as LinkPayload | null;
    const texts = [value?.id, value?.domain, value?.key];
    return value && texts.every((field) => typeof field === 'string') ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The latest state of each link. */
export function latestLinks(rows: readonly LinkRow[]): LinkRow[] {
  const latest = new Map<string, LinkRow>();
  for (const row of rows) {
    const known = latest.get(row.id);
    if (!known || known.changeId <= row.changeId) latest.set(row.id, row);
  }
  return [...latest.values()];
}
