import type { createTokenStore } from './access/token.store.ts';
import { createTokens } from './access/tokens.ts';
import { createUserStore } from './access/user.store.ts';
import { createUsers } from './access/users.ts';
import type { AnalyticsSide } from './analytics/analytics-side.ts';
import { createClickCounter } from './analytics/click-counter.ts';
import { countClicks } from './analytics/click-counts.ts';
import type { ClickRecord } from './analytics/click-record.ts';
import { createCommissionQuestions } from './analytics/commission-questions.ts';
import { createPartnerClicks } from './analytics/partner-clicks.ts';
import type { EventReader } from './analytics/query.ts';
import type { Config } from './config.ts';
import { createConversionSide, createLeadsByUrl } from './conversions/conversion-side.ts';
import type { Currencies } from './conversions/currencies.ts';
import { createCustomerSide } from './customers/customer-side.ts';
import type { Database } from './db/database.ts';
import { createTextSearch } from './db/text-search.ts';
import { createDnsLookup } from './domains/dns.ts';
import { createDomainStore } from './domains/domain.store.ts';
import { createDomains } from './domains/domains.ts';
import { dnsSetup, trustingSetup } from './domains/verify.ts';
import { createFiles } from './files/files.ts';
import { createFolderStore } from './folders/folder.store.ts';
import { createFolders } from './folders/folders.ts';
import type { Clock } from './kernel/clock.ts';
import { createGuardedFetch } from './kernel/guarded-fetch.ts';
import type { Ids } from './kernel/ids.ts';
import type { Log } from './kernel/log.ts';
import type { Metrics } from './kernel/metrics.ts';
import { createLinkStore } from './links/link.store.ts';
import { createLinkCascade } from './links/link-cascade.ts';
import { createLinkCounterStore } from './links/link-counters.store.ts';
import { createRecordLinks } from './links/link-events.ts';
import { createLinkListStore } from './links/link-list.store.ts';
import { createLinkLists } from './links/link-lists.ts';
import { createLinkRemoval } from './links/link-removal.ts';
import { createLinks } from './links/links.ts';
import { createLinksOfPartners } from './links/links-of-partners.ts';
import { createPartnerLinkStore } from './links/partner-link.store.ts';
import { createShortUrlLookup } from './links/short-url.ts';
import { createTestEnd } from './links/test-end.ts';
import type { Services } from './operations.ts';
import { createEarningSide } from './partners/earning-side.ts';
import { createEnrolmentStore } from './partners/enrolment.store.ts';
import { createLinkPrograms } from './partners/link-programs.ts';
import { createPartnerSide, type PartnerSideParts } from './partners/partner-side.ts';
import { createProgramStore } from './partners/program.store.ts';
import { createPaymentSide } from './payments/payment-side.ts';
import { createQrCodes } from './qr/qr-codes.ts';
import { createTagStore } from './tags/tag.store.ts';
import { createTags } from './tags/tags.ts';
import { createWebhookSide } from './webhooks/webhook-side.ts';
import { createWorkspaceStore } from './workspaces/workspace.store.ts';
import { createWorkspaces } from './workspaces/workspaces.ts';

const DNS_TIMEOUT_MS = 3_000;

export interface ServiceParts {
  config: Config;
  db: Database;
  clock: Clock;
  ids: Ids;
  tokenStore: ReturnType<typeof createTokenStore>;
  /** In the event store, or on its way there. */
  findClick: (id: string) => Promise<object | undefined>;
  aggregate: EventReader['aggregate'];
  currencies: Currencies;
  /** For tests: where Stripe is. */
  stripeUrl: string | undefined;
  metrics: Metrics;
  log: Log;
}

type Ground = ReturnType<typeof createGround>;
type WebhookSide = ReturnType<typeof createWebhookSide>;
export type StoredServices = Omit<Services, 'clickTracking' | keyof AnalyticsSide>;

export function createServices(parts: ServiceParts): StoredServices {
  const ground = createGround(parts, (linkIds) => partnerSide.discountCodes.deleteOfLinks(linkIds));
  const { config, db, metrics, clock, ids, log } = parts;
  const { workspaces, linkStore } = ground;
  const webhookSide = createWebhookSide({
    onSettled: { 'payout.confirmed': (...settled) => paying.payouts.settle(...settled) },
    publicUrl: config.publicUrl,
    allowPrivate: config.allowPrivate,
    db,
    workspaces,
    findLinks: linkStore.findByIds,
    metrics,
    clock,
    ids,
    log,
  });
  const linkSide = createLinkSide(parts, ground, webhookSide);
  const partnerSide = createPartners(
    parts,
    ground,
    linkSide.links,
    async (workspaceId, clickId) => (await paying.conversions.findClick(workspaceId, clickId))?.linkId,
  );
  const paying = createPayingSide(parts, ground, webhookSide, partnerSide);
  const { users, tokens, files, domains, tags, folders } = ground;
  return {
    clock,
    users,
    tokens,
    workspaces,
    files,
    domains,
    tags,
    folders,
    ...linkSide,
    ...partnerSide,
    ...paying,
    ...webhookSide,
  };
}

/** Who works here, and what links are sorted by. */
function createGround(
  { config, db, clock, ids, tokenStore }: ServiceParts,
  leavePartners: (linkIds: readonly string[]) => Promise<void>,
) {
  const users = createUsers({ store: createUserStore(db), clock, ids });
  const tokens = createTokens({ db, store: tokenStore, users, clock, ids });
  const workspaces = createWorkspaces({ db, store: createWorkspaceStore(db), users, clock, ids });
  const { publicUrl } = config;
  const files = createFiles({ dataDir: config.dataDir, publicUrl });
  const linkStore = createLinkStore(db);
  const record = createRecordLinks({ db, clock, publicUrl });
  const remove = createLinkRemoval({ store: linkStore, workspaces, record, leavePartners });
  const links = createLinkCascade({ store: linkStore, workspaces, record, remove, clock, ids });
  const common = { db, workspaces, links, clock, ids };
  const { saveImage } = files;
  const domains = createDomains({
    ...common,
    store: createDomainStore(db),
    saveImage,
    ...domainNames(config),
  });
  const tags = createTags({ ...common, store: createTagStore(db) });
  const folders = createFolders({ ...common, store: createFolderStore(db), users });
  return { users, tokens, workspaces, files, domains, tags, folders, linkStore, record, remove };
}

function createLinkSide({ config, db, clock, ids }: ServiceParts, ground: Ground, { webhooks }: WebhookSide) {
  const { workspaces, files, domains, folders, tags, linkStore, record, remove } = ground;
  const rules = { domains, folders, tags };
  const links = createLinks({
    db,
    store: linkStore,
    ...rules,
    workspaces,
    saveImage: files.saveImage,
    assertWebhooks: webhooks.assertAttachable,
    resolveProgram: createLinkPrograms({
      programs: createProgramStore(db),
      enrolments: createEnrolmentStore(db),
    }),
    record,
    remove,
    clock,
    ids,
  });
  const linkSearch = createTextSearch(db, 'link');
  const guardedFetch = createGuardedFetch({ allowPrivate: config.allowPrivate });
  const findLinkByShortUrl = createShortUrlLookup({ store: linkStore, domains, workspaces });
  return {
    links,
    linkSearch,
    linkLists: createLinkLists({ store: createLinkListStore(db, linkStore, linkSearch), ...rules }),
    testEnd: createTestEnd({ db, store: linkStore, record, clock, leadsByUrl: createLeadsByUrl(db) }),
    qrCodes: createQrCodes({ findLinkByShortUrl, files, fetch: guardedFetch, clock }),
    guardedFetch,
  };
}

function createPartners(
  { db, clock, ids }: ServiceParts,
  ground: Ground,
  links: Services['links'],
  findClickedLink: PartnerSideParts['findClickedLink'],
) {
  const { workspaces, files, domains, folders, linkStore: store, record, remove } = ground;
  const partnerLinks = createPartnerLinkStore(db, store);
  return createPartnerSide({
    db,
    workspaces,
    domains,
    folders,
    links,
    linksOfPartners: createLinksOfPartners({ store, partnerLinks, record, remove, clock }),
    findClickedLink,
    saveImage: files.saveImage,
    clock,
    ids,
  });
}

/** Customers, their conversions, and what partners earn by them. */
function createPayingSide(
  { config, db, findClick, aggregate, currencies, stripeUrl, clock, ids, log }: ServiceParts,
  { users, workspaces, files, linkStore }: Ground,
  { webhookLogs, webhookFlow }: WebhookSide,
  partnerSide: ReturnType<typeof createPartners>,
) {
  const findLinks = linkStore.findByIds;
  const customerSide = createCustomerSide({
    db,
    workspaces,
    images: files,
    findLinks,
    findEnrolments: partnerSide.partnerLookups.findEnrolments,
    findClick,
    forget: [webhookLogs.forgetCustomer, (...step) => earningSide.forgetCustomer(...step)],
    forgetClicks: webhookLogs.forgetClicks,
    clock,
    ids,
  });
  const { customers } = customerSide;
  const earningSide = createEarningSide({
    ...partnerSide,
    db,
    users,
    workspaces,
    customers,
    recordConversion: (entered) => conversionSide.conversions.enter(entered),
    startImport: (target) => paymentSide.invoiceImports.start(target),
    countClicks: createPartnerClicks(aggregate),
    toCents: currencies.toCents,
    commissionQuestions: createCommissionQuestions(clock),
    clock,
    ids,
  });
  const conversionSide = createConversionSide({
    db,
    customers,
    workspaces,
    findLinks,
    addToLink: createLinkCounterStore(db).addConversions,
    countUsage: workspaces.countEvents,
    findClick,
    earnings: earningSide.earnings,
    countClick: createCountClick(db, webhookFlow),
    currencies,
    publicUrl: config.publicUrl,
    clock,
  });
  const { conversions } = conversionSide;
  const { programs, discountCodes } = partnerSide;
  const paymentSide = createPaymentSide({
    db,
    customers,
    conversions,
    commissionEntries: earningSide.commissionEntries,
    async findLinkByCode(workspaceId, code) {
      const program = await programs.find(workspaceId);
      return program && discountCodes.findLinkByCode(program.id, code);
    },
    fetch: createGuardedFetch({ allowPrivate: config.allowPrivate }),
    stripeUrl,
    clock,
    log,
  });
  return { ...customerSide, ...earningSide, ...conversionSide, ...paymentSide };
}

/** For clicks that no visitor made: counted where those of visitors are, once and at once. */
function createCountClick(db: Database, hearers: WebhookSide['webhookFlow']) {
  const links = createLinkCounterStore(db);
  const partners = createEnrolmentStore(db);
  const count = createClickCounter({ links, partners, workspaces: createWorkspaceStore(db), hearers });
  return (click: ClickRecord) => count({ ...countClicks([click]), heard: [click] });
}

/** Which hosts are the service's own, and how others are found to point to it. */
function domainNames({ publicUrl, defaultDomain, apiHost, appHost, verifyDomains }: Config) {
  const { host, hostname: target } = new URL(publicUrl);
  const ownHosts = [defaultDomain, host, apiHost, appHost].filter((name) => name !== undefined);
  const setup = verifyDomains
    ? dnsSetup({ lookup: createDnsLookup({ timeoutMs: DNS_TIMEOUT_MS }), target })
    : trustingSetup(target);
  return { defaultDomain, ownHosts, setup };
}
