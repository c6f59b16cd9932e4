// Everything that is stored about one person as one JSON document: the customer, its leads, its sales and the
// clicks that led to them. Made piece by piece, however many events there are.
import { isoTime } from '../kernel/clock.ts';
import type { Customer } from './customer.ts';
import type { CustomerEvent, CustomerTraceStore, EventPage } from './customer-traces.store.ts';

export interface CustomerRecordParts {
  readonly traces: Pick<CustomerTraceStore, 'listLeads' | 'listSales' | 'findClick'>;
  /** A click that only the event store has. */
  readonly findClick: (id: string) => Promise<object | undefined>;
}

const EVENTS_PER_PAGE = 200;

export type WriteCustomerRecord = (customer: Customer) => AsyncGenerator<string>;

export function createCustomerRecord({ traces, findClick }: CustomerRecordParts): WriteCustomerRecord {
  async function* clicks({ id, clickId }: Customer): AsyncGenerator<unknown> {
    const seen = new Set<string>();
    for (const list of [traces.listLeads, traces.listSales]) {
      for await (const event of events(id, list)) {
        // Several events may follow one click.
        if (!seen.has(event.clickId)) yield event.click;
        seen.add(event.clickId);
      }
    }
    if (clickId === null || seen.has(clickId)) return;
    const own = (await traces.findClick(clickId)) ?? (await findClick(clickId));
    if (own) yield own;
  }

  return async function* (customer) {
    const { id } = customer;
    yield `{"customer":${JSON.stringify(person(customer))},"leads":[`;
    yield* listed(events(id, traces.listLeads), present);
    yield '],"sales":[';
    yield* listed(events(id, traces.listSales), present);
    yield '],"clicks":[';
    yield* listed(clicks(customer), (click) => click);
    yield ']}';
  };
}

async function* listed<T>(items: AsyncIterable<T>, show: (item: T) => unknown): AsyncGenerator<string> {
  let separator = '';
  for await (const item of items) {
    yield separator + JSON.stringify(show(item));
    separator = ',';
  }
}

async function* events(
  customerId: string,
  list: (customerId: string, page: EventPage) => Promise<CustomerEvent[]>,
): AsyncGenerator<CustomerEvent> {
  let after: CustomerEvent | undefined;
  do {
    const page = await list(customerId, { after, limit: EVENTS_PER_PAGE });
    yield* page;
    after = page.at(-1);
  } while (after);
}

function person(customer: Customer): object {
  const { clickedAt, firstSaleAt, subscriptionCanceledAt, createdAt, updatedAt, ...rest } = customer;
  const time = (ms: number | null) => (ms === null ? null : isoTime(ms));
  return {
    ...rest,
    clickedAt: time(clickedAt),
    firstSaleAt: time(firstSaleAt),
    subscriptionCanceledAt: time(subscriptionCanceledAt),
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  };
}

function present({ timeMs, click: _click, ...event }: CustomerEvent): object {
  return { ...event, timestamp: isoTime(timeMs) };
}
