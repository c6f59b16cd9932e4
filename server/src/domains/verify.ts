// Whether a domain is set up: it points here, and its owner has put our code into its DNS. Looking names up
// is a parameter; what the answers mean is decided here.
import { isIP } from 'node:net';

export const SETUP_STATUSES = [
  'Valid Configuration',
  'Invalid Configuration',
  'Conflicting DNS Records',
  'Pending Verification',
  'Domain Not Found',
  'Unknown Error',
] as const;
export type SetupStatus = (typeof SETUP_STATUSES)[number];

export interface DnsRecord {
  readonly type: 'TXT' | 'CNAME' | 'A' | 'AAAA';
  readonly name: string;
  readonly value: string;
}

/** What a name server said: the records, none of this type, or no such name. Rejects when none answered. */
export type DnsAnswer = readonly string[] | 'no-name';
export type DnsLookup = (type: DnsRecord['type'], name: string) => Promise<DnsAnswer>;

export interface SetupCheck {
  /** The records the owner of the domain has to make. */
  records(slug: string, code: string): DnsRecord[];
  check(slug: string, code: string): Promise<SetupStatus>;
}

/** Takes every domain for set up: for installations where only trusted people add domains. */
export function trustingSetup(target: string): SetupCheck {
  return { records: (slug) => [addressRecord(slug, target)], check: async () => 'Valid Configuration' };
}

/** `target` is the host that short-link domains must point to. */
export function dnsSetup({ lookup, target }: { lookup: DnsLookup; target: string }): SetupCheck {
  async function check(slug: string, code: string): Promise<SetupStatus> {
    const pointing = await pointsTo(lookup, slug, target);
    if (pointing !== 'Valid Configuration') return pointing;
    const texts = await lookup('TXT', txtName(slug));
    return texts !== 'no-name' && texts.includes(code) ? 'Valid Configuration' : 'Pending Verification';
  }

  return {
    records: (slug, code) => [{ type: 'TXT', name: txtName(slug), value: code }, addressRecord(slug, target)],
    check: (slug, code) => check(slug, code).catch((): SetupStatus => 'Unknown Error'),
  };
}

async function pointsTo(lookup: DnsLookup, slug: string, target: string): Promise<SetupStatus> {
  const names = await lookup('CNAME', slug);
  if (names === 'no-name') return 'Domain Not Found';
  if (names.some((name) => sameName(name, target))) return 'Valid Configuration';
  // An address instead of a CNAME: a zone's own name cannot have one.
  const addresses = await addressesOf(lookup, slug);
  if (addresses.length === 0) return 'Invalid Configuration';
  const ours = new Set(await addressesOf(lookup, target));
  const right = addresses.filter((address) => ours.has(address)).length;
  if (right === addresses.length) return 'Valid Configuration';
  return right === 0 ? 'Invalid Configuration' : 'Conflicting DNS Records';
}

async function addressesOf(lookup: DnsLookup, host: string): Promise<string[]> {
  const literal = host.replace(/^\[|\]$/g, '');
  if (isIP(literal)) return [literal];
  const answers = await Promise.all([lookup('A', host), lookup('AAAA', host)]);
  return answers.flatMap((answer) => (answer === 'no-name' ? [] : answer));
}

function addressRecord(slug: string, target: string): DnsRecord {
  const literal = target.replace(/^\[|\]$/g, '');
  const version = isIP(literal);
  if (version === 0) return { type: 'CNAME', name: slug, value: target };
  return { type: version === 4 ? 'A' : 'AAAA', name: slug, value: literal };
}

function txtName(slug: string): string {
  return `_linktrail.${slug}`;
}

function sameName(a: string, b: string): boolean {
  return a.toLowerCase().replace(/\.$/, '') === b.toLowerCase();
}
