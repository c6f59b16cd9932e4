// What looks like fraud in a conversion: rules that look at the customer, the partner and the click. Pure.
import { FREE_DOMAINS, isDisposable } from './email-domains.ts';

/** Looked at with every lead and sale. */
export const CONVERSION_RULES = [
  'customerEmailMatch',
  'customerEmailSuspiciousDomain',
  'paidTrafficDetected',
  'referralSourceBanned',
] as const;
/** About the partner as a whole: while one is open, everything new is held. */
export const PARTNER_RULES = [
  'partnerCrossProgramBan',
  'partnerDuplicateAccount',
  'partnerFraudReport',
] as const;
export const FRAUD_TYPES = [...CONVERSION_RULES, ...PARTNER_RULES] as const;
export type FraudType = (typeof FRAUD_TYPES)[number];

/** Parameters that networks add to the address behind an advertisement. */
const AD_PARAMETERS = {
  google: ['gclid', 'gad_source', 'gad_campaignid', 'gbraid', 'wbraid'],
  facebook: ['fbclid'],
  x: ['twclid'],
  bing: ['msclkid'],
  linkedin: ['li_fat_id'],
  tiktok: ['ttclid'],
  reddit: ['rdt_cid'],
} as const;
export type AdPlatform = keyof typeof AD_PARAMETERS;
export const AD_PLATFORMS = Object.keys(AD_PARAMETERS) as [AdPlatform, ...AdPlatform[]];

/** What a program can set of a rule; each rule looks at its own. */
export interface RuleConfig {
  /** More disposable domains, or hosts that visitors may not come from; `*` stands for anything. */
  readonly domains?: readonly string[] | undefined;
  readonly platforms?: readonly AdPlatform[] | undefined;
  /** Campaigns that the program knows of and allows. */
  readonly allowedCampaignIds?: readonly string[] | undefined;
}

export interface FraudRule {
  readonly type: FraudType;
  readonly enabled: boolean;
  readonly config: RuleConfig;
}

export interface FraudFacts {
  readonly customerEmail: string | null;
  readonly partnerEmail: string | null;
  /** Domains of other customers that the partner has brought. */
  readonly customerDomains: ReadonlySet<string>;
  /** Where the visitor was sent. */
  readonly url: string;
  readonly referer: string;
}

export interface Finding {
  readonly type: FraudType;
  readonly metadata: Readonly<Record<string, string>>;
}

type Details = Finding['metadata'] | undefined;
const CHECKS: Readonly<
  Record<(typeof CONVERSION_RULES)[number], (facts: FraudFacts, config: RuleConfig) => Details>
> = {
  customerEmailMatch: matchingEmail,
  customerEmailSuspiciousDomain: disposableEmail,
  paidTrafficDetected: paidTraffic,
  referralSourceBanned: bannedSource,
};

export function findFraud(rules: readonly FraudRule[], facts: FraudFacts): Finding[] {
  return rules.flatMap(({ type, enabled, config }) => {
    const check = enabled ? CHECKS[type as keyof typeof CHECKS] : undefined;
    const metadata = check?.(facts, config);
    return metadata ? [{ type, metadata }] : [];
  });
}

/** Addresses that reach the same person: without what follows a plus, and without the dots that Gmail ignores. */
export function canonicalEmail(email: string): string {
  const folded = email.trim().toLowerCase();
  const at = folded.lastIndexOf('@');
  const domain = folded.slice(at + 1);
  const name = folded.slice(0, Math.max(0, at)).replace(/\+.*$/, '');
  if (domain !== 'gmail.com' && domain !== 'googlemail.com') return `${name}@${domain}`;
  return `${name.replaceAll('.', '')}@gmail.com`;
}

/** Undefined where there is none, or it is one that many share. */
export function ownDomain(email: string | null): string | undefined {
  const domain = domainOf(email);
  return domain === undefined || FREE_DOMAINS.has(domain) ? undefined : domain;
}

function domainOf(email: string | null): string | undefined {
  const domain = email?.trim().toLowerCase().split('@').at(-1);
  return email?.includes('@') && domain ? domain : undefined;
}

function matchingEmail({ customerEmail, partnerEmail, customerDomains }: FraudFacts): Details {
  if (customerEmail === null) return undefined;
  if (partnerEmail !== null && canonicalEmail(customerEmail) === canonicalEmail(partnerEmail)) {
    return { match: 'selfReferral' };
  }
  const domain = ownDomain(customerEmail);
  if (domain === undefined) return undefined;
  if (domain === ownDomain(partnerEmail)) return { match: 'partnerDomain', domain };
  return customerDomains.has(domain) ? { match: 'customerDomain', domain } : undefined;
}

function disposableEmail({ customerEmail }: FraudFacts, { domains = [] }: RuleConfig): Details {
  const domain = domainOf(customerEmail);
  if (domain === undefined) return undefined;
  return isDisposable(domain) || domains.some((glob) => matches(glob, domain)) ? { domain } : undefined;
}

function paidTraffic({ url }: FraudFacts, config: RuleConfig): Details {
  const params = URL.parse(url)?.searchParams;
  if (!params) return undefined;
  const campaignId = params.get('gad_campaignid') ?? params.get('utm_id') ?? '';
  if (campaignId !== '' && config.allowedCampaignIds?.includes(campaignId)) return undefined;
  for (const platform of config.platforms ?? (['google'] as const)) {
    const parameter = AD_PARAMETERS[platform].find((name) => params.has(name));
    if (parameter) return { platform, parameter, ...(campaignId && { campaignId }) };
  }
  return undefined;
}

function bannedSource({ referer }: FraudFacts, { domains = [] }: RuleConfig): Details {
  const host = referer.toLowerCase();
  const glob = domains.find((each) => matches(each, host));
  return glob === undefined ? undefined : { source: host, rule: glob };
}

/** Segment by segment, so that no pattern takes long. */
function matches(glob: string, text: string): boolean {
  const parts = glob.trim().toLowerCase().split('*');
  const [head = '', ...rest] = parts;
  if (rest.length === 0) return head === text;
  const tail = rest.pop() as string;
  if (text.length < head.length + tail.length || !text.startsWith(head) || !text.endsWith(tail)) return false;
  let at = head.length;
  const end = text.length - tail.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
