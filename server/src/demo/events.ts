// The events of the demo by number: click n, and what came of it, are always the same for the same plan. Nothing is
// kept but sums per link.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ClickRecord, DIRECT } from '../analytics/click-record.ts';
import { clickIdAt } from '../events/click-id.ts';
import { createSeededRandom } from '../kernel/seeded-random.ts';
import { type Catalog, createCatalog, type DemoLink } from './catalog.ts';
import { type DemoConversion, drawConversion, LEAD_SHARE } from './conversions.ts';
import { createTraffic } from './traffic.ts';
import { drawPlace } from './visitors.ts';

export interface DemoPlan {
  readonly workspaceId: string;
  readonly domain: string;
  readonly seed: number;
  readonly clicks: number;
  /** When the last of them is over; they cover the year before. */
  readonly endMs: number;
  /** What ids of this demo have in common and no others do. */
  readonly mark: string;
}

export interface DemoClick {
  readonly n: number;
  readonly timeMs: number;
  /** Its place in the catalogue. */
  readonly link: number;
  readonly conversion: DemoConversion | undefined;
}

export interface LinkSums {
  clicks: number;
  leads: number;
  conversions: number;
  sales: number;
  saleAmount: number;
  lastClickedMs: number;
}

export interface DemoEvents {
  readonly catalog: Catalog;
  readonly startMs: number;
  click(n: number): DemoClick;
  /** The same as analytics stores it. */
  record(click: DemoClick): ClickRecord;
  /** The id of something that came of a click at that time. */
  idAt(click: DemoClick, timeMs: number): string;
  /** What all events add up to for each link; others get their turn meanwhile. */
  sum(signal: AbortSignal): Promise<LinkSums[]>;
}

const [CONVERSIONS, VISITORS] = [1, 2];
/** Room for the number of a click in the second half of its id. */
const MOST_CLICKS = 62 ** 5;
const CLICKS_PER_TURN = 5_000;
/** A scanned code is on no page. */
const SCANNED = { referer: DIRECT, refererUrl: DIRECT };

export function createDemoEvents(plan: DemoPlan): DemoEvents {
  const { clicks, endMs } = plan;
  const random = createSeededRandom(plan.seed);
  const traffic = createTraffic(plan);
  const { startMs } = traffic;
  const catalog = createCatalog({ ...plan, startMs });
  const salt = (Number.parseInt(plan.mark.slice(0, 6), 16) % 62 ** 3) * MOST_CLICKS;
  const idAt = ({ n }: Pick<DemoClick, 'n'>, timeMs: number) => clickIdAt(timeMs, salt + n);

  function click(n: number): DemoClick {
    random.seek(n);
    const timeMs = traffic.timeOf(n, random.next());
    const link = catalog.chooseLink(timeMs, random.next());
    const { quality } = (catalog.links[link] as DemoLink).channel;
    if (!random.chance(LEAD_SHARE * quality)) return { n, timeMs, link, conversion: undefined };
    random.seek(n, CONVERSIONS);
    return { n, timeMs, link, conversion: drawConversion(random, timeMs, endMs) };
  }

  return {
    catalog,
    startMs,
    click,
    idAt,

    record(one) {
      const { id: linkId, key, url, parts, channel } = catalog.links[one.link] as DemoLink;
      random.seek(one.n, VISITORS);
      const qr = random.chance(channel.scans);
      const { place, ip } = drawPlace(random);
      const agent = channel.chooseAgent(random.next());
      const { referer, refererUrl } = qr ? SCANNED : channel.chooseReferer(random.next());
      return {
        id: idAt(one, one.timeMs),
        timeMs: one.timeMs,
        workspaceId: plan.workspaceId,
        linkId,
        domain: plan.domain,
        key,
        url,
        ...parts,
        ip,
        continent: place.continent,
        country: place.country,
        region: place.region,
        city: place.city,
        device: agent.device,
        browser: agent.browser,
        browserVersion: agent.browserVersion,
        os: agent.os,
        osVersion: agent.osVersion,
        userAgent: agent.userAgent,
        trigger: qr ? 'qr' : 'link',
        qr,
        referer,
        refererUrl,
      };
    },

    async sum(signal) {
      const sums = catalog.links.map(() => newSums());
      for (let n = 0; n < clicks; n++) {
        addTo(sums, click(n));
        if (n % CLICKS_PER_TURN > 0) continue;
        await nextTurn();
        signal.throwIfAborted();
      }
      return sums;
    },
  };
}

function newSums(): LinkSums {
  return { clicks: 0, leads: 0, conversions: 0, sales: 0, saleAmount: 0, lastClickedMs: 0 };
}

function addTo(sums: readonly LinkSums[], { link, timeMs, conversion }: DemoClick): void {
  const sum = sums[link] as LinkSums;
  sum.clicks += 1;
  sum.lastClickedMs = timeMs;
  if (!conversion) return;
  sum.leads += 1;
  if (conversion.sales.length > 0) sum.conversions += 1;
  for (const { amount } of conversion.sales) {
    sum.sales += 1;
    sum.saleAmount += amount;
  }
}
