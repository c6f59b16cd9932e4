// A link as analytics filters and groups by it: its current attributes, taken from the events of its changes.
// What belongs to its partner is not here: a partner has a row of its own.
import { z } from 'zod';
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

const payload = z.object({
  id: z.string(),
  domain: z.string(),
  key: z.string(),
  folderId: z.string().nullish(),
  tenantId: z.string().nullish(),
  partnerId: z.string().nullish(),
  programId: z.string().nullish(),
  tags: z.array(z.object({ id: z.string() })).nullish(),
});

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

function parse(text: string): z.output<typeof payload> | undefined {
  try {
    return payload.safeParse(JSON.parse(text)).data;
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
