// Generated events and questions about them, the same for the same seed: several workspaces, links of every sort,
// few values per field so that filters match, and times that meet, also at the hours at which clocks are set.
import type { ClickRecord } from '../analytics/click-record.ts';
import type { LeadRecord, SaleRecord } from '../analytics/conversion-record.ts';
import type { LinkRow } from '../analytics/link-row.ts';
import type { Dataset } from '../analytics/oracle.ts';
import type { PartnerRow } from '../analytics/partner-row.ts';
import { createSeededRandom, type SeededRandom } from '../kernel/seeded-random.ts';
import { clickRecord, linkRow } from './click-records.ts';

export interface Random extends Pick<SeededRandom, 'whole' | 'chance' | 'pick'> {
  /** At least one, in their order. */
  some<T>(items: readonly T[], max: number): T[];
}

export function createRandom(seed: number): Random {
  const random = createSeededRandom(seed);
  const { whole } = random;
  return {
    ...random,
    some(items, max) {
      const count = 1 + whole(Math.min(max, items.length));
      const chosen = new Set(Array.from({ length: count }, () => whole(items.length)));
      return items.filter((_, i) => chosen.has(i));
    },
  };
}

const HOUR_MS = 3_600_000;
/** Clocks are set on 14 and 28 March here and there, and on 4 April in Australia. */
export const FROM_MS = Date.UTC(2027, 2, 10);
export const TO_MS = Date.UTC(2027, 3, 8);

export const WORKSPACES = ['ws_1', 'ws_2', 'ws_3'];
export const VALUES = {
  domain: ['go.example.com', 'l.example.org', "o'dd.example"],
  folderId: ['', 'fold_1', 'fold_2', 'fold_3'],
  tenantId: ['', 'tenant 1', 'tenänt'],
  partnerId: ['', 'pn_1', 'pn_2', 'pn_3', 'pn_4'],
  programId: ['', 'prog_1'],
  tagId: ['tag_1', 'tag_2', 'tag_3'],
  groupId: ['', 'grp_1', 'grp_2'],
  partnerTagId: ['ptag_1', 'ptag_2'],
  country: ['US', 'DE', 'BR', 'Unknown'],
  region: ['CA', 'BE', 'Unknown', ''],
  city: ['Berlin', "L'Aquila", 'São "Paulo"', 'Unknown'],
  continent: ['NA', 'EU', 'SA', ''],
  device: ['Desktop', 'Mobile', 'Tablet'],
  browser: ['Chrome', 'Firefox', 'Unknown'],
  os: ['iOS', 'Windows', 'Mac OS'],
  trigger: ['link', 'qr', 'pageview', 'deeplink'] as const,
  referer: ['(direct)', 't.co', 'example.org'],
  refererUrl: ['(direct)', 'https://t.co/x?y=1', 'https://t.co/x?y=2', 'https://example.org/%3F'],
  url: ['https://a.example/?utm_source=x', 'https://a.example/', 'https://b.example/p', ''],
  utmSource: ['', 'news', 'news;--', 'goog', 'google'],
  utmMedium: ['', 'mail', 'a b'],
  utmCampaign: ['', 'spring%', 'spring'],
  utmTerm: ['', 'x'],
  utmContent: ['', '日本', '🏙️'],
  customerId: ['cus_1', 'cus_2', 'cus_3', 'cus_4', 'cus_5'],
} as const;

const METADATA = [
  '',
  '{"plan":"pro","seats":5,"trial":false}',
  '{"plan":"free","seats":"12","nested":{"a/b":{"~x":"deep"}},"list":[1,2]}',
  '{"plan":"","seats":1.5,"trial":true,"nested":{"a/b":"flat"}}',
  '{"plan":null,"seats":"many","0":"zero"}',
  '{"seats":-2e3,"nested":[{"a/b":1}],"plan":{"name":"pro"}}',
];

export interface DataSize {
  readonly clicks: number;
  readonly leads: number;
  readonly sales: number;
}

export function makeEvents(random: Random, size: DataSize): Dataset {
  const partners = WORKSPACES.flatMap((workspaceId) => makePartners(random, workspaceId));
  const links = WORKSPACES.flatMap((workspaceId) => makeLinks(random, workspaceId));
  const clicks = Array.from({ length: size.clicks }, (_, n) => makeClick(random, n, links));
  clicks.sort((a, b) => a.timeMs - b.timeMs);
  const leads = Array.from({ length: size.leads }, (_, n) => makeLead(random, `lead_${n}`, clicks));
  const sales = Array.from({ length: size.sales }, (_, n) => makeSale(random, n, clicks));
  return { clicks, leads, sales, links, partners };
}

function makePartners(random: Random, workspaceId: string): PartnerRow[] {
  return VALUES.partnerId.slice(1).map((partnerId, i) => ({
    workspaceId,
    partnerId,
    programId: 'prog_1',
    groupId: random.pick(VALUES.groupId),
    tagIds: random.chance(0.3) ? [] : random.some(VALUES.partnerTagId, 2),
    deleted: i === 3,
    changeId: 1,
  }));
}

function makeLinks(random: Random, workspaceId: string): LinkRow[] {
  return Array.from({ length: 14 }, (_, n) =>
    linkRow(`${workspaceId}_link_${n}`, {
      workspaceId,
      domain: random.pick(VALUES.domain),
      key: n % 5 === 0 ? '_root' : `key-${n}`,
      folderId: random.pick(VALUES.folderId),
      tenantId: random.pick(VALUES.tenantId),
      partnerId: random.pick(VALUES.partnerId),
      programId: random.pick(VALUES.programId),
      tagIds: random.chance(0.3) ? [] : random.some(VALUES.tagId, 3),
      root: n % 5 === 0,
      deleted: n % 7 === 3,
    }),
  );
}

/** Often on the hour, often the same as others. */
function makeTime(random: Random): number {
  const hours = random.whole((TO_MS - FROM_MS) / HOUR_MS);
  const within = random.chance(0.3)
    ? 0
    : random.chance(0.5)
      ? random.whole(4) * 900_000
      : random.whole(HOUR_MS);
  return FROM_MS + hours * HOUR_MS + within;
}

/** Some destinations are given the id of the click, in whatever place. */
function withClickId(url: string, id: string, n: number): string {
  if (url === '' || n % 5 > 1) return url;
  const mark = url.includes('?') ? '&' : '?';
  return `${url}${mark}dub_id=${id}${n % 5 === 1 ? '&x=1' : ''}${n % 10 === 0 ? '#top' : ''}`;
}

function makeClick(random: Random, n: number, links: readonly LinkRow[]): ClickRecord {
  const link = random.pick(links);
  const destination = random.pick(VALUES.url);
  const trigger = random.pick(VALUES.trigger);
  // A link that nobody has told of yet.
  const linkId = random.chance(0.02) ? `${link.workspaceId}_new` : link.id;
  const id = random.chance(0.1) ? `é-${n}` : `click-${n}`;
  const url = withClickId(destination, id, n);
  return clickRecord(n, {
    id,
    timeMs: makeTime(random),
    workspaceId: link.workspaceId,
    linkId,
    url,
    urlBase: url.split('?')[0] ?? '',
    trigger,
    qr: trigger === 'qr' || random.chance(0.1),
    country: random.pick(VALUES.country),
    region: random.pick(VALUES.region),
    city: random.pick(VALUES.city),
    continent: random.pick(VALUES.continent),
    device: random.pick(VALUES.device),
    browser: random.pick(VALUES.browser),
    os: random.pick(VALUES.os),
    referer: random.pick(VALUES.referer),
    refererUrl: random.pick(VALUES.refererUrl),
    utmSource: random.pick(VALUES.utmSource),
    utmMedium: random.pick(VALUES.utmMedium),
    utmCampaign: random.pick(VALUES.utmCampaign),
    utmTerm: random.pick(VALUES.utmTerm),
    utmContent: random.pick(VALUES.utmContent),
  });
}

function makeLead(random: Random, id: string, clicks: readonly ClickRecord[]): LeadRecord {
  const click = random.pick(clicks);
  return {
    id,
    timeMs: random.chance(0.2) ? makeTime(random) : click.timeMs + random.whole(48) * HOUR_MS,
    workspaceId: click.workspaceId,
    linkId: click.linkId,
    customerId: random.pick(VALUES.customerId),
    eventName: 'Sign up',
    metadata: random.pick(METADATA),
    click,
  };
}

function makeSale(random: Random, n: number, clicks: readonly ClickRecord[]): SaleRecord {
  return {
    ...makeLead(random, `sale_${n}`, clicks),
    eventName: 'Invoice paid',
    amount: random.whole(100) * 100,
    currency: 'usd',
    paymentProcessor: 'custom',
    invoiceId: n % 2 === 0 ? '' : `inv_${n}`,
  };
}
