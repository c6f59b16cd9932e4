// What the demo has links for, and which of them a click at a given time is of: few are popular and most are not,
// campaigns begin, are the talk of some days and fade.
import { type DestinationParts, destinationParts } from '../analytics/destination-parts.ts';
import { createSeededRandom, type SeededRandom } from '../kernel/seeded-random.ts';
import { createChoice, createWeights, type Weights } from '../kernel/weighted-choice.ts';
import { CHANNELS, type Channel } from './channels.ts';
import { DAY_MS, DEMO_DAYS } from './traffic.ts';

export interface DemoLink {
  readonly id: string;
  readonly key: string;
  readonly url: string;
  readonly parts: DestinationParts;
  readonly title: string;
  readonly channel: Channel;
  readonly folderId: string | undefined;
  readonly tagIds: readonly string[];
  readonly createdAtMs: number;
  readonly archived: boolean;
  readonly popularity: number;
}

export interface Named {
  readonly id: string;
  readonly name: string;
}

export interface Catalog {
  readonly domainId: string;
  readonly folders: readonly Named[];
  readonly tags: readonly Named[];
  readonly links: readonly DemoLink[];
  /** The index of a link that exists by then; `share` is from 0 up to and without 1. */
  chooseLink(timeMs: number, share: number): number;
}

const CAMPAIGNS =
  'launch spring-sale webinar pricing black-friday ebook onboarding summer referral update podcast roadmap case-study conference trial winter survey integrations hiring beta'.split(
    ' ',
  );
const PAGES = ['pricing', 'features', 'signup', 'blog/why-we-built-it', 'webinar', 'download', 'docs/start'];
const EXTRA_TAGS = ['Evergreen', 'Seasonal', 'Priority'];
const SITE = 'https://www.acme.example';
const FEWEST_LINKS = 20;
const MOST_LINKS = 2_000;
/** One for each channel is there from the first day and does not fade: there is always something to click on. */
const PILLARS = CHANNELS.length;
const WEEK_MS = 7 * DAY_MS;

export interface CatalogPlan {
  readonly seed: number;
  readonly clicks: number;
  /** What ids of this demo have in common and no others do. */
  readonly mark: string;
  readonly startMs: number;
}

export function createCatalog(plan: CatalogPlan): Catalog {
  const folders = [...new Set(CHANNELS.flatMap(({ folder }) => folder ?? []))].map((name, i) => ({
    id: `fold_${plan.mark}${i}`,
    name,
  }));
  const tags = [...CHANNELS.map(({ name }) => name), ...EXTRA_TAGS].map((name, i) => ({
    id: `tag_${plan.mark}${i}`,
    name,
  }));
  const count = Math.min(MOST_LINKS, Math.max(FEWEST_LINKS, Math.round(Math.sqrt(plan.clicks) / 2)));
  const random = createSeededRandom(plan.seed);
  const chooseChannel = createChoice(CHANNELS);
  const links = Array.from({ length: count }, (_, i) => {
    random.seek(i, LINK_STREAM);
    return makeLink(plan, i, CHANNELS[i] ?? chooseChannel(random.next()), { random, folders, tags });
  });
  const weeks = Array.from({ length: Math.ceil(DEMO_DAYS / 7) }, (_, week) =>
    createWeights(links.map((link, i) => interest(link, i, plan.startMs + week * WEEK_MS))),
  );
  return {
    domainId: `dom_${plan.mark}`,
    folders,
    tags,
    links,
    chooseLink(timeMs, share) {
      const week = weeks[Math.floor((timeMs - plan.startMs) / WEEK_MS)] as Weights;
      return week.indexAt(share * week.total);
    },
  };
}

/** Apart from the numbers that events are made with. */
const LINK_STREAM = 9;

interface Parts {
  readonly random: SeededRandom;
  readonly folders: readonly Named[];
  readonly tags: readonly Named[];
}

function makeLink(plan: CatalogPlan, i: number, channel: Channel, parts: Parts): DemoLink {
  const { random, folders, tags } = parts;
  const campaign = random.pick(CAMPAIGNS);
  const url = destination(random.pick(PAGES), campaign, channel);
  const idOf = (named: readonly Named[], name: string) =>
    named.find((one) => one.name === name)?.id as string;
  const extra = random.chance(0.3) ? [idOf(tags, random.pick(EXTRA_TAGS))] : [];
  const bornMs = i < PILLARS ? -random.whole(30 * DAY_MS) : random.whole(0.95 * DEMO_DAYS * DAY_MS);
  return {
    id: `link_${plan.mark}${String(i).padStart(4, '0')}`,
    key: `${campaign}-${channel.name.toLowerCase()}-${i + 1}`,
    url,
    parts: destinationParts(url),
    title: `${inWords(campaign)}: ${channel.name}`,
    channel,
    folderId: channel.folder && idOf(folders, channel.folder),
    tagIds: [idOf(tags, channel.name), ...extra],
    createdAtMs: plan.startMs + bornMs,
    archived: i >= PILLARS && random.chance(0.05),
    popularity: (0.7 + 0.6 * random.next()) / (i + 1) ** 0.85,
  };
}

function destination(page: string, campaign: string, { utm }: Channel): string {
  const query = utm && `?utm_source=${utm.source}&utm_medium=${utm.medium}&utm_campaign=${campaign}`;
  return `${SITE}/${page}${query ?? ''}`;
}

function inWords(campaign: string): string {
  return `${campaign.charAt(0).toUpperCase()}${campaign.slice(1)}`.replaceAll('-', ' ');
}

/** None before the link exists: it begins with its first whole week. */
function interest({ channel, createdAtMs, popularity }: DemoLink, i: number, weekMs: number): number {
  if (createdAtMs > weekMs) return 0;
  const { fadeDays } = channel;
  if (i < PILLARS || fadeDays === undefined) return popularity;
  const ageDays = (weekMs - createdAtMs) / DAY_MS;
  return popularity * (0.05 + 12 * Math.exp(-ageDays / fadeDays));
}
