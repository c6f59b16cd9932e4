// Lists of events for callers: a page by number, or all of them page by page for as long as somebody reads.
import type { Actor } from '../http/operation.ts';
import { presentLink } from '../links/link-wire.ts';
import type { Links } from '../links/links.ts';
import type { FilterParams, TimeParams } from './event-params.ts';
import type { EventQuestions } from './event-questions.ts';
import { type EventCustomer, presentEvent, type WireEvent } from './event-records.ts';
import type { EventKind, EventReader, EventRecords, ListQuery } from './query.ts';

/** Those of the workspace, by id. */
export type FindCustomers = (
  workspaceId: string,
  ids: readonly string[],
) => Promise<ReadonlyMap<string, EventCustomer>>;

export interface EventsParts {
  readonly reader: Pick<EventReader, 'list'>;
  readonly questions: Pick<EventQuestions, 'read'>;
  readonly links: Pick<Links, 'findByIds'>;
  readonly findCustomers: FindCustomers;
}

export interface ListParams extends FilterParams, TimeParams {
  readonly event: EventKind;
  readonly order: 'asc' | 'desc';
}

export interface Reading {
  /** The address under which the caller reaches the service. */
  readonly origin: string;
  readonly signal: AbortSignal;
}

const ROWS_PER_PAGE = 1_000;

export function createEvents({ reader, questions, links, findCustomers }: EventsParts) {
  /** For each record its event; undefined where the link was deleted a moment ago. */
  async function presentEach<K extends EventKind>(
    workspaceId: string,
    kind: K,
    records: readonly EventRecords[K][],
    origin: string,
  ): Promise<(WireEvent | undefined)[]> {
    const linkIds = [...new Set(records.map((record) => record.linkId))];
    const customerIds = [...new Set(records.flatMap((record) => customerOf(record) ?? []))];
    const [found, customers] = await Promise.all([
      links.findByIds(workspaceId, linkIds),
      customerIds.length === 0 ? new Map() : findCustomers(workspaceId, customerIds),
    ]);
    const shown = new Map(Array.from(found, ([id, link]) => [id, presentLink(link, origin)]));
    return records.map((record) => presentEvent(kind, record, { links: shown, customers }));
  }

  async function present<K extends EventKind>(
    workspaceId: string,
    kind: K,
    records: readonly EventRecords[K][],
    origin: string,
  ): Promise<WireEvent[]> {
    const events = await presentEach(workspaceId, kind, records, origin);
    return events.filter((event) => event !== undefined);
  }

  return {
    presentEach,

    async list(
      actor: Actor,
      params: ListParams & { readonly page: number; readonly limit: number },
      { origin, signal }: Reading,
    ): Promise<WireEvent[]> {
      const { event: kind, order, page, limit } = params;
      const { query } = await questions.read(actor, params);
      const offset = Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER);
      const records = await reader.list({ ...query, kind, order, limit, offset }, signal);
      return present(actor.workspaceId, kind, records, origin);
    },

    /** What is asked for, checked before anything is read. */
    async open(actor: Actor, params: ListParams): Promise<ListQuery> {
      const { query } = await questions.read(actor, params);
      return { ...query, kind: params.event, order: params.order, limit: ROWS_PER_PAGE, offset: 0 };
    },

    /** All of it. Each page follows the last event of the one before, so none is slower than another. */
    async *pages(query: ListQuery, { origin, signal }: Reading): AsyncGenerator<WireEvent[]> {
      const { kind, workspaceId, limit } = query;
      let after: ListQuery['after'];
      do {
        const records = await reader.list({ ...query, ...(after && { after }) }, signal);
        const last = records.length < limit ? undefined : records.at(-1);
        after = last && { timeMs: last.timeMs, id: last.id };
        yield await present(workspaceId, kind, records, origin);
      } while (after && !signal.aborted);
    },
  };
}

export type Events = ReturnType<typeof createEvents>;

function customerOf(record: EventRecords[EventKind]): string | undefined {
  return 'customerId' in record ? record.customerId : undefined;
}
