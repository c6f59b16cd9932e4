// The demo as a source of records: what links hang on, links with what their events add up to, then click by click
// with the customer, lead and sales that came of it. Goes on from any click.
import { z } from 'zod';
import type { ClickRecord } from '../analytics/click-record.ts';
import { clickRow } from '../dump/click-entity.ts';
import { presentClick } from '../dump/click-line.ts';
import type { Batch, InputLine, Source } from '../dump/import.ts';
import { isoTime } from '../kernel/clock.ts';
import { createSeededRandom } from '../kernel/seeded-random.ts';
import { TAG_COLORS } from '../tags/tag.ts';
import type { DemoConversion } from './conversions.ts';
import type { DemoClick, DemoEvents, DemoPlan, LinkSums } from './events.ts';
import { drawPerson } from './people.ts';

export interface DemoSourceParts {
  readonly plan: DemoPlan;
  readonly events: DemoEvents;
  readonly sums: readonly LinkSums[];
  /** Holds back while too much is on its way to the event store. */
  readonly keepPace: (clicks: number) => Promise<void>;
  /** Told how many clicks an earlier run has brought in. */
  readonly onStart: (clicks: number) => void;
}

const LINKS_PER_BATCH = 500;
const CLICKS_PER_BATCH = 1_000;

const savedState = z.object({ next: z.int().min(0) });
type State = z.infer<typeof savedState>;

export function openDemoSource(parts: DemoSourceParts): Source {
  return {
    name: demoSourceName(parts.plan.workspaceId),
    batches: (state) => batches(parts, savedState.safeParse(state).data),
  };
}

/** A workspace has one demo. */
export function demoSourceName(workspaceId: string): string {
  return `demo ${workspaceId}`;
}

async function* batches(parts: DemoSourceParts, from: State | undefined): AsyncGenerator<Batch> {
  const { clicks } = parts.plan;
  parts.onStart(from?.next ?? 0);
  if (!from) yield* catalogBatches(parts);
  for (let next = from?.next ?? 0; next < clicks; ) {
    const end = Math.min(next + CLICKS_PER_BATCH, clicks);
    await parts.keepPace(end);
    yield { lines: eventLines(parts, next, end), state: { next: end } };
    next = end;
  }
}

type Entry = readonly [type: string, values: object];

/** Interrupted here, it begins anew: what is in stays as it is. */
function* catalogBatches({ plan, events, sums }: DemoSourceParts): Generator<Batch> {
  const { workspaceId } = plan;
  const { catalog, startMs } = events;
  const createdAt = isoTime(startMs);
  const hooks: Entry[] = [
    ['domain', { ...domainValues(plan, catalog.domainId), createdAt }],
    ...catalog.folders.map(
      (folder): Entry => ['folder', { ...folder, workspaceId, accessLevel: 'write', createdAt }],
    ),
    ...catalog.tags.map((tag, i): Entry => {
      const color = TAG_COLORS[i % TAG_COLORS.length];
      return ['tag', { ...tag, workspaceId, color, createdAt }];
    }),
  ];
  const links = sums.map((sum, i): Entry => ['link', linkValues(plan, events, i, sum)]);
  const all = [...hooks, ...links];
  for (let start = 0; start < all.length; start += LINKS_PER_BATCH) {
    const lines = all
      .slice(start, start + LINKS_PER_BATCH)
      .map(([type, values]) => ({ number: 0, type, values }));
    yield { lines, state: {} };
  }
}

/** Nobody can register it, so that nobody else could prove that it is theirs. */
function domainValues({ workspaceId, domain, mark }: DemoPlan, id: string): object {
  return { id, workspaceId, slug: domain, verified: true, verificationCode: `linktrail-${mark}` };
}

function linkValues(plan: DemoPlan, { catalog }: DemoEvents, i: number, sum: LinkSums): object {
  const link = catalog.links[i] as DemoEvents['catalog']['links'][number];
  const { utmSource, utmMedium, utmCampaign } = link.parts;
  const { lastClickedMs, ...counters } = sum;
  return {
    id: link.id,
    workspaceId: plan.workspaceId,
    domain: plan.domain,
    key: link.key,
    url: link.url,
    title: link.title,
    folderId: link.folderId,
    tagIds: link.tagIds,
    trackConversion: true,
    archived: link.archived,
    ...(utmSource && { utm_source: utmSource, utm_medium: utmMedium, utm_campaign: utmCampaign }),
    ...counters,
    ...(lastClickedMs > 0 && { lastClicked: isoTime(lastClickedMs) }),
    createdAt: isoTime(link.createdAtMs),
  };
}

/** Lines of one type stand together; the number of a line is that of its click, counted from 1. */
function eventLines({ plan, events }: DemoSourceParts, from: number, to: number): InputLine[] {
  const random = createSeededRandom(plan.seed);
  const [customers, leads, sales, clicks]: InputLine[][] = [[], [], [], []];
  for (let n = from; n < to; n++) {
    const click = events.click(n);
    const record = events.record(click);
    clicks?.push({ number: n + 1, type: 'click', values: undefined, row: clickRow(record) });
    if (!click.conversion) continue;
    random.seek(n, PEOPLE);
    const facts = { click, record, conversion: click.conversion, person: drawPerson(random, n) };
    const entry = (type: string) => (values: object) => ({ number: n + 1, type, values });
    customers?.push(entry('customer')(customerValues(plan, events, facts)));
    leads?.push(entry('lead')(leadValues(events, facts)));
    sales?.push(...saleValues(events, facts).map(entry('sale')));
  }
  return [customers, leads, sales, clicks].flatMap((lines) => lines ?? []);
}

const PEOPLE = 3;

interface Facts {
  readonly click: DemoClick;
  readonly record: ClickRecord;
  readonly conversion: DemoConversion;
  readonly person: ReturnType<typeof drawPerson>;
}

const customerId = (events: DemoEvents, { click, conversion }: Facts): string =>
  `cus_${events.idAt(click, conversion.leadMs)}`;

function customerValues(plan: DemoPlan, events: DemoEvents, facts: Facts): object {
  const { click, record, conversion, person } = facts;
  const { sales, cancelledMs, leadMs } = conversion;
  const [first] = sales;
  return {
    id: customerId(events, facts),
    workspaceId: plan.workspaceId,
    externalId: `user_${plan.mark.slice(0, 4).toLowerCase()}_${click.n + 1}`,
    ...person,
    country: record.country,
    clickId: record.id,
    clickedAt: isoTime(record.timeMs),
    linkId: record.linkId,
    sales: sales.length,
    saleAmount: sales.reduce((sum, { amount }) => sum + amount, 0),
    ...(first && { firstSaleAt: isoTime(first.timeMs) }),
    ...(cancelledMs !== undefined && { subscriptionCanceledAt: isoTime(cancelledMs) }),
    createdAt: isoTime(leadMs),
  };
}

function eventValues(events: DemoEvents, facts: Facts, timeMs: number): object {
  const { click, record } = facts;
  return {
    id: events.idAt(click, timeMs),
    workspaceId: record.workspaceId,
    customerId: customerId(events, facts),
    linkId: record.linkId,
    clickId: record.id,
    click: presentClick(record),
    time: isoTime(timeMs),
    createdAt: isoTime(timeMs),
  };
}

function leadValues(events: DemoEvents, facts: Facts): object {
  const { eventName, metadata, leadMs } = facts.conversion;
  return { ...eventValues(events, facts, leadMs), eventName, metadata, url: facts.record.url };
}

function saleValues(events: DemoEvents, facts: Facts): object[] {
  return facts.conversion.sales.map(({ timeMs, amount, eventName, metadata }) => ({
    ...eventValues(events, facts, timeMs),
    eventName,
    metadata,
    amount,
    currency: 'usd',
    originalAmount: amount,
    originalCurrency: 'usd',
    paymentProcessor: 'stripe',
    invoiceId: `in_${events.idAt(facts.click, timeMs)}`,
  }));
}
