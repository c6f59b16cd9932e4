// The rules a link must pass, in the order in which they are told to the caller: first failure wins. The same
// for one link and for a hundred, for a new one and for a change; look-ups are shared by all items of a call.
import type { LinkDomain } from '../domains/domain.ts';
import { type Actor, type Plan, planIncludes } from '../http/operation.ts';
import { parseHumanDate } from '../kernel/dates.ts';
import { readDestination } from '../kernel/destination.ts';
import { AppError, invalid } from '../kernel/errors.ts';
import { foldName } from '../tags/tag.ts';
import {
  type Link,
  type LinkFields,
  type LinkTag,
  ROOT_KEY,
  stripExternalPrefix,
  truncate,
  UTM_FIELDS,
} from './link.ts';
import type { LinkDraft } from './link-draft.ts';
import { changesKey, type Item, isOn, newItem } from './link-item.ts';
import { checkedKey, checkedPrefix, DEFAULT_KEY_LENGTH, keySlot, storedKey } from './link-key.ts';
import { CAMPAIGN_FIELDS, type Campaign, campaignOf, pointsAt, withCampaign } from './link-url.ts';

/** The program and the partner that a link is said to belong to. */
export interface ProgramWish {
  readonly programId: string | null;
  readonly partnerId: string | null;
  /** Names the partner where no id does. */
  readonly tenantId: string | null;
}

export interface ProgramLink {
  readonly programId: string;
  readonly partnerId: string | null;
  /** Where links of the program go that are put nowhere else. */
  readonly folderId: string | null;
}

/** What the rules ask about the rest of the world. */
export interface Lookups {
  readonly nowMs: number;
  domain(slug: string | undefined): Promise<LinkDomain>;
  /** A folder named by the caller. */
  assertFolder(id: string): Promise<void>;
  /** The folder the link is in already. */
  assertCurrentFolder(id: string): Promise<void>;
  resolveProgram(wish: ProgramWish): Promise<ProgramLink>;
  assertWebhooks(ids: readonly string[]): Promise<void>;
}

/** What was found out for all items at once, between the two halves of the rules. */
export interface Found {
  readonly tagsById: ReadonlyMap<string, LinkTag>;
  readonly tagsByName: ReadonlyMap<string, LinkTag>;
  /** In use already, or claimed by an earlier item of this call. */
  readonly keys: Set<string>;
  readonly externalIds: Set<string>;
}

/** Destination, plan, domain and the form of the key: all that needs no look at other links. */
export async function applyOwnRules(item: Item, actor: Actor, look: Lookups): Promise<void> {
  applyDestinations(item);
  assertPlan(item, actor.plan);
  assertTest(item);
  await applyIdentity(item, actor, look);
  applyPlainFields(item);
}

/** Everything that depends on other rows. */
export async function applySharedRules(item: Item, look: Lookups, found: Found): Promise<void> {
  claimKey(item, found);
  claimExternalId(item, found);
  applyTags(item, found);
  await applyFolder(item, look);
  await applyProgram(item, look);
  await applyWebhooks(item, look);
  applyDates(item, look.nowMs);
  assertNoLoop(item);
}

/** What a change of many links names once for all of them: when it is not there, no link is changed. */
export async function assertNamed(draft: LinkDraft, look: Lookups, found: Found): Promise<void> {
  const item = newItem(draft);
  applyTags(item, found);
  await applyFolder(item, look);
  await applyWebhooks(item, look);
}

function applyDestinations({ draft, existing, fields }: Item): void {
  const isRoot = (existing?.key ?? draft.key) === ROOT_KEY;
  if (draft.url !== undefined) {
    if (draft.url === '' && !isRoot)
      throw new AppError('bad_request', 'too_small: url: a destination is required');
    fields.url = draft.url === '' ? '' : readDestination('url', draft.url);
  }
  for (const field of ['ios', 'android'] as const) {
    const text = draft[field];
    if (text !== undefined) fields[field] = text === null ? null : readDestination(field, text);
  }
  if (draft.geo !== undefined) fields.geo = draft.geo && mapGeo(draft.geo);
  if (draft.testVariants !== undefined) {
    fields.testVariants =
      draft.testVariants?.map(({ url, percentage }, index) => ({
        url: readDestination(`testVariants[${index}].url`, url),
        percentage,
      })) ?? null;
  }
  applyCampaign(draft, existing, fields);
}

function mapGeo(geo: Record<string, string>): Record<string, string> | null {
  const entries = Object.entries(geo).map(([country, url]) => [
    country,
    readDestination(`geo.${country}`, url),
  ]);
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

/** A changed link keeps its campaign: what it has counts as given, what is sent wins over it. */
function applyCampaign(draft: LinkDraft, existing: Link | undefined, fields: LinkFields): void {
  const sent = CAMPAIGN_FIELDS.filter((field) => draft[field] !== undefined);
  if (draft.url === undefined && sent.length === 0) return;
  const campaign: Campaign = existing
    ? Object.fromEntries(UTM_FIELDS.map((field) => [field, existing[field]]))
    : {};
  for (const field of sent) campaign[field] = draft[field] ?? null;
  fields.url = withCampaign(fields.url, campaign);
  Object.assign(fields, campaignOf(fields.url));
}

const PRO_FIELDS = [
  'proxy',
  'password',
  'rewrite',
  'expiresAt',
  'ios',
  'android',
  'geo',
  'doIndex',
  'folderId',
] as const;
const BUSINESS_FIELDS = ['trackConversion', 'testVariants'] as const;

function assertPlan({ draft, existing }: Item, plan: Plan): void {
  const isRoot = (existing?.key ?? draft.key) === ROOT_KEY;
  const pro = PRO_FIELDS.find((field) => draft[field]) ?? (isRoot && draft.url ? 'url' : undefined);
  if (pro) assertPlanFor(pro, plan, 'pro');
  const business =
    BUSINESS_FIELDS.find((field) => draft[field]) ?? (draft.webhookIds?.length ? 'webhookIds' : undefined);
  if (business) assertPlanFor(business, plan, 'business');
}

function assertPlanFor(field: string, plan: Plan, minimum: Plan): void {
  if (planIncludes(plan, minimum)) return;
  throw new AppError(
    'forbidden',
    `custom: ${field}: needs the plan ${minimum} or higher; the workspace has ${plan}`,
  );
}

function assertTest({ draft, existing }: Item): void {
  const variants = draft.testVariants === undefined ? existing?.testVariants : draft.testVariants;
  const tracked = draft.trackConversion ?? existing?.trackConversion;
  const concerned = draft.testVariants !== undefined || draft.trackConversion !== undefined;
  if (variants && !tracked && concerned) throw invalid('testVariants', 'a test needs trackConversion: true');
}

async function applyIdentity(item: Item, actor: Actor, look: Lookups): Promise<void> {
  const { draft, existing, fields } = item;
  if (existing?.key === ROOT_KEY) {
    item.domain = await look.domain(existing.domain);
    return;
  }
  const domain = await look.domain(draft.domain || existing?.domain);
  item.domain = domain;
  fields.domain = domain.slug;
  const key = draft.key ?? existing?.key;
  if (key)
    fields.key = isSameKey(key, existing, domain) ? storedKey(key, domain) : checked(key, domain, actor.plan);
  else {
    item.random = true;
    item.prefix = checkedPrefix(draft.prefix ?? '', draft.keyLength ?? DEFAULT_KEY_LENGTH, domain);
  }
}

function checked(key: string, domain: LinkDomain, plan: Plan): string {
  return checkedKey(key, domain, planIncludes(plan, 'pro'));
}

/** A key that the link has already needs no check, whatever the rules are by now. */
function isSameKey(key: string, existing: Link | undefined, domain: LinkDomain): boolean {
  return (
    existing !== undefined && isOn(existing, domain) && keySlot(domain, key) === keySlot(domain, existing.key)
  );
}

const PLAIN_FIELDS = [
  'tenantId',
  'trackConversion',
  'archived',
  'proxy',
  'rewrite',
  'doIndex',
  'publicStats',
  'comments',
  'image',
  'video',
] as const;

function applyPlainFields({ draft, fields }: Item): void {
  for (const name of PLAIN_FIELDS) {
    if (draft[name] !== undefined) Object.assign(fields, { [name]: draft[name] });
  }
  if (draft.password !== undefined) fields.password = draft.password || null;
  if (draft.title !== undefined) fields.title = draft.title && truncate(draft.title, 120);
  if (draft.description !== undefined)
    fields.description = draft.description && truncate(draft.description, 240);
  if (draft.externalId !== undefined)
    fields.externalId = draft.externalId && stripExternalPrefix(draft.externalId);
}

function claimKey(item: Item, found: Found): void {
  if (!changesKey(item)) return;
  const slot = keySlot(item.domain as LinkDomain, item.fields.key);
  if (found.keys.has(slot)) {
    throw new AppError('conflict', `custom: key: ${item.fields.domain}/${item.fields.key} is taken already`);
  }
  found.keys.add(slot);
}

/** Every address a visitor can be sent to, by its field. */
function destinationsOf({
  url,
  ios,
  android,
  expiredUrl,
  geo,
  testVariants,
}: Readonly<LinkFields>): [string, string][] {
  const single = Object.entries({ url, ios, android, expiredUrl }).filter(([, value]) => value) as [
    string,
    string,
  ][];
  const byCountry = Object.entries(geo ?? {}).map(([country, value]): [string, string] => [
    `geo.${country}`,
    value,
  ]);
  const tested = (testVariants ?? []).map((variant, i): [string, string] => [
    `testVariants[${i}].url`,
    variant.url,
  ]);
  return [...single, ...byCountry, ...tested];
}

/** Looks at what this call changes: the address of the link, or where it leads. */
function assertNoLoop(item: Item): void {
  const { existing, fields, domain, random } = item;
  if (random || !domain) return;
  const before = new Set(existing && !changesKey(item) ? destinationsOf(existing).map(([, url]) => url) : []);
  const loop = destinationsOf(fields).find(
    ([, url]) => !before.has(url) && pointsAt(url, domain, fields.key),
  );
  if (loop) throw invalid(loop[0], 'a link must not point at itself');
}

function claimExternalId({ draft, existing, fields }: Item, found: Found): void {
  const id = fields.externalId;
  if (draft.externalId === undefined || id === null || id === existing?.externalId) return;
  if (id === '') throw invalid('externalId', 'must have 1 to 255 characters');
  if (found.externalIds.has(id)) throw new AppError('conflict', `custom: externalId: ${id} is taken already`);
  found.externalIds.add(id);
}

function applyTags(item: Item, found: Found): void {
  const { tagIds, tagId, tagNames } = item.draft;
  const ids = tagIds ?? (tagId === undefined ? undefined : tagId === null ? [] : [tagId]);
  if (ids === undefined && tagNames === undefined) return;
  const byId = pick(ids ?? [], found.tagsById, tagIds ? 'tagIds' : 'tagId');
  const byName = ids && !item.addUpTags ? [] : pick(tagNames ?? [], found.tagsByName, 'tagNames');
  item.tags = [...new Map([...byId, ...byName].map((tag) => [tag.id, tag])).values()];
}

function pick(wanted: readonly string[], tags: ReadonlyMap<string, LinkTag>, field: string): LinkTag[] {
  const unknown = wanted.filter((name) => !tags.has(tagSlot(name, field)));
  if (unknown.length > 0) throw invalid(field, `there are no tags ${unknown.join(', ')}`);
  return wanted.map((name) => tags.get(tagSlot(name, field)) as LinkTag);
}

function tagSlot(name: string, field: string): string {
  return field === 'tagNames' ? foldName(name) : name;
}

async function applyFolder({ draft, existing, fields }: Item, look: Lookups): Promise<void> {
  if (existing?.folderId) await look.assertCurrentFolder(existing.folderId);
  if (draft.folderId === undefined) return;
  if (draft.folderId && draft.folderId !== existing?.folderId) await look.assertFolder(draft.folderId);
  fields.folderId = draft.folderId;
}

async function applyProgram({ draft, existing, fields }: Item, look: Lookups): Promise<void> {
  const { programId, partnerId } = draft;
  if (!programId && !partnerId) {
    if (programId !== undefined) fields.programId = programId;
    if (partnerId !== undefined) fields.partnerId = partnerId;
    return;
  }
  const kept = programId === existing?.programId ? existing?.partnerId : undefined;
  const found = await look.resolveProgram({
    programId: programId ?? null,
    partnerId: (partnerId === undefined ? kept : partnerId) ?? null,
    tenantId: fields.tenantId,
  });
  fields.programId = found.programId;
  fields.partnerId = found.partnerId;
  if (draft.folderId === undefined && !existing) fields.folderId = found.folderId;
}

async function applyWebhooks(item: Item, look: Lookups): Promise<void> {
  const { webhookIds } = item.draft;
  if (webhookIds === undefined) return;
  item.webhookIds = [...new Set(webhookIds ?? [])].sort();
  if (item.webhookIds.length > 0) await look.assertWebhooks(item.webhookIds);
}

function applyDates({ draft, fields }: Item, nowMs: number): void {
  if (draft.expiresAt !== undefined) fields.expiresAt = readDate('expiresAt', draft.expiresAt, nowMs);
  if (draft.expiredUrl !== undefined) {
    fields.expiredUrl = draft.expiredUrl === null ? null : readDestination('expiredUrl', draft.expiredUrl);
  }
  if (draft.testStartedAt !== undefined)
    fields.testStartedAt = readDate('testStartedAt', draft.testStartedAt, nowMs);
  if (draft.testCompletedAt !== undefined) {
    fields.testCompletedAt = readDate('testCompletedAt', draft.testCompletedAt, nowMs);
  }
}

/** Later ones have no ISO form with a year of four digits. */
const LAST_DATE_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

function readDate(field: string, text: string | null, nowMs: number): number | null {
  if (text === null || text === '') return null;
  const ms = parseHumanDate(text, nowMs);
  if (ms === undefined || ms < 0 || ms > LAST_DATE_MS) {
    throw invalid(field, 'must be a date such as 2031-03-01T09:00:00Z, or words such as "in 3 days"');
  }
  return ms;
}
