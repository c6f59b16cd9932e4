// SQL for visits: links by domain and lookup key, many at a time, with only what a visit needs.
import { CompiledQuery, type Selectable, sql } from 'kysely';
import type { Database } from '../db/database.ts';
import type { Schema } from '../db/schema.ts';
import { namesOf } from '../domains/domain.ts';
import type { IpPrivacy } from '../kernel/ip-privacy.ts';
import type { TestVariant } from './link.ts';
import { PLAIN } from './packed-link.ts';
import type { VisitDomain, VisitLink } from './visit-link.ts';

const KEYS_PER_QUERY = 256;

/** What makes a link more than a short name for an address. */
const SPECIAL_COLUMNS = [
  'password',
  'banned_at',
  'disabled_at',
  'expires_at',
  'expired_url',
  'proxy',
  'title',
  'description',
  'image',
  'video',
  'rewrite',
  'do_index',
  'ios',
  'android',
  'geo',
  'track_conversion',
  'program_id',
  'partner_id',
  'test_variants',
  'test_completed_at',
] as const satisfies (keyof Schema['link'])[];
const FLAGS: readonly string[] = ['proxy', 'rewrite', 'do_index', 'track_conversion'];
const PLAIN_COLUMNS = ['id', 'workspace_id', 'domain', 'key', 'lookup_key', 'url'] as const;
/** Links of which the workspace is gone have none. */
const IP_PRIVACY = '(select ip_privacy from workspace where workspace.id = link.workspace_id)';

type PlainRow = Pick<Selectable<Schema['link']>, (typeof PLAIN_COLUMNS)[number]> & {
  ip_privacy: string | null;
};
type SpecialRow = PlainRow & Pick<Selectable<Schema['link']>, (typeof SPECIAL_COLUMNS)[number]>;

const IS_SPECIAL = SPECIAL_COLUMNS.map((name) =>
  FLAGS.includes(name) ? `${name} = 1` : `${name} is not null`,
);
const SELECT_PLAIN = `select ${PLAIN_COLUMNS.join(', ')}, ${IP_PRIVACY} as ip_privacy, case when ${IS_SPECIAL.join(' or ')} then 1 else 0 end as special from link`;

export function createVisitLinkStore(db: Database) {
  /** Statements as ready text: building one takes longer than running it. */
  const texts = new Map<string, string>();
  const marker = (n: number) => (db.engine === 'postgres' ? `$${n}` : '?');

  function textFor(names: number, keys: number): string {
    const known = texts.get(`${names} ${keys}`);
    if (known !== undefined) return known;
    const markers = (from: number, count: number) =>
      Array.from({ length: count }, (_, i) => marker(from + i)).join(', ');
    const text = `${SELECT_PLAIN} where domain in (${markers(1, names)}) and lookup_key in (${markers(names + 1, keys)})`;
    texts.set(`${names} ${keys}`, text);
    return text;
  }

  /** Few columns first, since most links have nothing in the others. */
  async function find(names: readonly string[], lookupKeys: readonly string[]): Promise<VisitLink[]> {
    const keys = padded(lookupKeys);
    const query = CompiledQuery.raw(textFor(names.length, keys.length), [...names, ...keys]);
    const { rows } = await db.query.executeQuery<PlainRow & { special: number }>(query);
    const special = rows.filter((row) => row.special === 1).map((row) => row.id);
    const plain = rows.filter((row) => row.special === 0).map(toPlain);
    return special.length === 0 ? plain : [...plain, ...(await findSpecial(special))];
  }

  async function findSpecial(ids: readonly string[]): Promise<VisitLink[]> {
    const rows = await db.query
      .selectFrom('link')
      .select([...PLAIN_COLUMNS, ...SPECIAL_COLUMNS])
      .select(sql.raw<string | null>(IP_PRIVACY).as('ip_privacy'))
      .where('id', 'in', padded(ids))
      .execute();
    return rows.map(toSpecial);
  }

  return {
    /** By lookup key; what does not exist is left out. */
    async loadLinks(
      domain: Pick<VisitDomain, 'slug' | 'formerSlug'>,
      lookupKeys: readonly string[],
    ): Promise<Map<string, VisitLink>> {
      const names = namesOf(domain);
      const found = new Map<string, VisitLink>();
      for (let start = 0; start < lookupKeys.length; start += KEYS_PER_QUERY) {
        for (const link of await find(names, lookupKeys.slice(start, start + KEYS_PER_QUERY))) {
          found.set(link.lookupKey, domain.formerSlug ? { ...link, domain: domain.slug } : link);
        }
      }
      return found;
    },
  };
}

/** To the next power of two by repeating: a handful of statements to prepare instead of hundreds. */
function padded(values: readonly string[]): string[] {
  const length = 2 ** Math.ceil(Math.log2(values.length));
  return Array.from({ length }, (_, i) => values[Math.min(i, values.length - 1)] as string);
}

function toPlain(row: PlainRow): VisitLink {
  return {
    ...PLAIN,
    id: row.id,
    workspaceId: row.workspace_id,
    ipPrivacy: (row.ip_privacy ?? 'standard') as IpPrivacy,
    domain: row.domain,
    key: row.key,
    lookupKey: row.lookup_key,
    url: normalForm(row.url),
  };
}

function toSpecial(row: SpecialRow): VisitLink {
  return {
    ...toPlain(row),
    password: row.password,
    bannedAt: row.banned_at,
    disabledAt: row.disabled_at,
    expiresAt: row.expires_at,
    expiredUrl: row.expired_url,
    proxy: row.proxy === 1,
    title: row.title,
    description: row.description,
    image: row.image,
    video: row.video,
    rewrite: row.rewrite === 1,
    doIndex: row.do_index === 1,
    ios: row.ios,
    android: row.android,
    geo: row.geo === null ? null : (JSON.parse(row.geo) as Record<string, string>),
    trackConversion: row.track_conversion === 1,
    programId: row.program_id,
    partnerId: row.partner_id,
    testVariants: row.test_variants === null ? null : (JSON.parse(row.test_variants) as TestVariant[]),
    testCompletedAt: row.test_completed_at,
  };
}

/** As a Location header can carry it. Done once here, so that a visit has nothing left to do. */
function normalForm(url: string): string {
  return URL.parse(url)?.href ?? url;
}
