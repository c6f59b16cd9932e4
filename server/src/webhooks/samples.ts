// A sample of the data of every event, for tests of a receiver: whole, in the shape of the real thing, and about
// nobody.
import { isoTime } from '../kernel/clock.ts';
import { EMPTY_FIELDS, type Link } from '../links/link.ts';
import { presentLink } from '../links/link-wire.ts';
import type { Trigger } from './webhook.ts';

export interface SampleFacts {
  readonly publicUrl: string;
  readonly workspaceId: string;
  readonly nowMs: number;
}

const DAY_MS = 86_400_000;

export function sampleOf(trigger: Trigger, facts: SampleFacts): object {
  return SAMPLES[trigger](facts);
}

const SAMPLES: Readonly<Record<Trigger, (facts: SampleFacts) => object>> = {
  'link.created': (facts) => link(facts),
  'link.updated': (facts) => link(facts),
  'link.deleted': (facts) => link(facts),
  'link.clicked': (facts) => ({ click: click(facts), link: link(facts, { clicks: 1 }) }),
  'lead.created': (facts) => ({
    eventName: 'Sign up',
    customer: customer(facts),
    click: click(facts),
    link: link(facts, { clicks: 1, leads: 1 }),
    partner: null,
    metadata: null,
  }),
  'sale.created': (facts) => ({
    eventName: 'Invoice paid',
    customer: customer(facts),
    click: click(facts),
    link: link(facts, { clicks: 1, leads: 1, conversions: 1, sales: 1, saleAmount: 4_900 }),
    sale: { amount: 4_900, currency: 'usd', paymentProcessor: 'custom', invoiceId: 'inv_sample' },
    partner: null,
    metadata: { plan: 'pro' },
  }),
  'partner.application_submitted': (facts) => ({
    id: 'pga_sample',
    createdAt: isoTime(facts.nowMs),
    partner: {
      id: 'pn_sample',
      name: 'Sample Partner',
      companyName: null,
      email: 'partner@example.com',
      image: null,
      country: 'US',
      groupId: 'grp_sample',
      status: 'pending',
    },
    applicationFormData: [{ label: 'Where will you promote us?', value: 'On my blog' }],
  }),
  'partner.enrolled': enrolledPartner,
  'partner.merged': () => ({
    sourcePartner: { id: 'pn_sample_old', tenantId: null, email: 'old@example.com' },
    targetPartner: { id: 'pn_sample', tenantId: null, email: 'partner@example.com' },
    targetAlreadyEnrolled: true,
  }),
  'commission.created': commission,
  'discount_code.created': () => discountCode(null),
  'discount_code.deleted': ({ nowMs }) => discountCode(isoTime(nowMs)),
  'bounty.created': bounty,
  'bounty.updated': bounty,
  'payout.confirmed': payout,
};

const KEY = 'sample';

function link({ publicUrl, workspaceId, nowMs }: SampleFacts, counts: Partial<Link> = {}) {
  const sample: Link = {
    ...EMPTY_FIELDS,
    id: 'link_sample',
    workspaceId,
    userId: null,
    domain: new URL(publicUrl).host,
    key: KEY,
    url: 'https://example.com/',
    trackConversion: true,
    disabledAt: null,
    bannedAt: null,
    clicks: 0,
    leads: 0,
    conversions: 0,
    sales: 0,
    saleAmount: 0,
    lastClickedAt: null,
    createdAt: nowMs - DAY_MS,
    updatedAt: nowMs - DAY_MS,
    tags: [{ id: 'tag_sample', name: 'Sample', color: 'blue' }],
    webhookIds: [],
    ...counts,
  };
  return presentLink(sample, publicUrl);
}

function click({ nowMs }: SampleFacts) {
  return {
    id: 'sample_click_id',
    timestamp: isoTime(nowMs),
    url: 'https://example.com/',
    country: 'US',
    city: 'Austin',
    region: 'TX',
    continent: 'NA',
    device: 'Desktop',
    browser: 'Chrome',
    os: 'Mac OS',
    ua: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36',
    trigger: 'link',
    referer: '(direct)',
    refererUrl: '(direct)',
    qr: false,
    ip: '',
  };
}

function customer({ nowMs }: SampleFacts) {
  return {
    id: 'cus_sample',
    name: 'Sample Customer',
    email: 'customer@example.com',
    avatar: null,
    externalId: 'user_sample',
    stripeCustomerId: null,
    sales: 0,
    saleAmount: 0,
    createdAt: isoTime(nowMs - DAY_MS),
    firstSaleAt: null,
    subscriptionCanceledAt: null,
  };
}

function partner() {
  return {
    id: 'pn_sample',
    name: 'Sample Partner',
    email: 'partner@example.com',
    image: null,
    payoutsEnabledAt: null,
    country: 'US',
    groupId: 'grp_sample',
    totalClicks: 10,
    totalLeads: 5,
    totalConversions: 2,
    totalSales: 2,
    totalSaleAmount: 9_800,
    totalCommissions: 980,
  };
}

function enrolledPartner({ publicUrl, nowMs }: SampleFacts) {
  const domain = new URL(publicUrl).host;
  return {
    id: 'pn_sample',
    name: 'Sample Partner',
    username: 'sample',
    email: 'partner@example.com',
    image: null,
    country: 'US',
    companyName: null,
    description: null,
    networkStatus: 'draft',
    defaultPayoutMethod: null,
    paypalEmail: null,
    stripeConnectId: null,
    payoutsEnabledAt: null,
    identityVerifiedAt: null,
    programId: 'prog_sample',
    partnerId: 'pn_sample',
    groupId: 'grp_sample',
    tenantId: null,
    createdAt: isoTime(nowMs),
    status: 'approved',
    links: [
      {
        id: 'link_sample',
        domain,
        key: KEY,
        shortLink: `https://${domain}/${KEY}`,
        url: 'https://example.com/',
        clicks: 0,
        leads: 0,
        conversions: 0,
        sales: 0,
        saleAmount: 0,
      },
    ],
  };
}

function commission(facts: SampleFacts) {
  const domain = new URL(facts.publicUrl).host;
  return {
    id: 'cm_sample',
    type: 'sale',
    amount: 4_900,
    earnings: 490,
    currency: 'usd',
    status: 'pending',
    invoiceId: 'inv_sample',
    description: null,
    quantity: 1,
    userId: null,
    metadata: null,
    createdAt: isoTime(facts.nowMs),
    updatedAt: isoTime(facts.nowMs),
    partner: partner(),
    customer: customer(facts),
    link: { id: 'link_sample', shortLink: `https://${domain}/${KEY}`, domain, key: KEY },
  };
}

function discountCode(disabledAt: string | null) {
  return {
    id: 'dcode_sample',
    code: 'SAMPLE20',
    partnerId: 'pn_sample',
    linkId: 'link_sample',
    disabledAt,
    discount: { id: 'disc_sample', amount: 20, type: 'percentage', maxDuration: 3, provider: 'custom' },
  };
}

function bounty({ nowMs }: SampleFacts) {
  return {
    id: 'bnty_sample',
    name: 'Write about us',
    description: null,
    type: 'submission',
    startsAt: isoTime(nowMs),
    endsAt: null,
    startMode: 'absolute',
    endsAfterDays: null,
    submissionsOpenAt: null,
    submissionFrequency: null,
    maxSubmissions: 1,
    rewardAmount: 5_000,
    rewardDescription: null,
    performanceCondition: null,
    performanceScope: null,
    submissionRequirements: null,
    groups: [{ id: 'grp_sample' }],
    partnerTags: [],
  };
}

function payout({ nowMs }: SampleFacts) {
  return {
    id: 'po_sample',
    invoiceId: null,
    amount: 980,
    currency: 'usd',
    status: 'processing',
    description: null,
    periodStart: isoTime(nowMs - 30 * DAY_MS),
    periodEnd: isoTime(nowMs),
    createdAt: isoTime(nowMs),
    initiatedAt: isoTime(nowMs),
    paidAt: null,
    mode: 'external',
    method: null,
    partner: {
      id: 'pn_sample',
      name: 'Sample Partner',
      email: 'partner@example.com',
      image: null,
      country: 'US',
      tenantId: null,
      status: 'approved',
    },
  };
}
