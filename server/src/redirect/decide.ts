// What a visit gets, decided from plain values by one table of rules: the first that applies answers. Pure:
// it reads no clock, no store and no request, and changes nothing.
import type { VisitDomain, VisitLink } from '../links/visit-link.ts';
import { ROOT_KEY } from '../links/link.ts';
import type { Visit } from './visit.ts';

export type PageName =
  | 'not_found' | 'inspect' | 'password' | 'banned' | 'expired' | 'placeholder' | 'preview' | 'app' | 'cloaked';

export type Decision =
  | { readonly kind: 'elsewhere'; readonly status: 302 | 307; readonly location: string }
  | { readonly kind: 'page'; readonly page: PageName; readonly status: 200 | 404 | 410 }
  /** A visit that reached its destination: counted, and sent on or shown a page that leads on. */
  | {
      readonly kind: 'arrive';
      readonly target: string;
      readonly status: 301 | 302;
      readonly page?: 'placeholder' | 'app' | 'cloaked';
      /** The variant of a test, to be remembered for this visitor. */
      readonly variant?: string;
    };

interface Facts {
  readonly link: VisitLink;
  readonly domain: VisitDomain;
  readonly visit: Visit;
}

interface Rule {
  readonly name: string;
  readonly applies: (facts: Facts) => boolean;
  readonly answer: (facts: Facts) => Decision;
}

const APP_SCHEMES = /^(mailto|sms|tel|tg|whatsapp|xmpp):/i;
export const TEST_COOKIE = 'dub_test_url';

const RULES: readonly Rule[] = [
  {
    name: 'inspect',
    applies: ({ link, visit }) => visit.inspect && link.password === null,
    answer: () => page('inspect', 200),
  },
  {
    name: 'password',
    applies: ({ link, visit }) => link.password !== null && !knowsPassword(link, visit),
    answer: () => page('password', 200),
  },
  { name: 'banned', applies: ({ link }) => link.bannedAt !== null, answer: () => page('banned', 410) },
  { name: 'disabled', applies: ({ link }) => link.disabledAt !== null, answer: ({ domain }) => notFound(domain) },
  {
    name: 'expired',
    applies: ({ link, visit }) => link.expiresAt !== null && link.expiresAt < visit.nowMs,
    answer: expired,
  },
  {
    name: 'placeholder',
    applies: ({ link }) => link.url === '',
    answer: (facts) => ({ ...arriveAtUrl(facts), page: 'placeholder' }),
  },
  {
    name: 'preview',
    applies: ({ link, visit }) => visit.bot && link.proxy,
    answer: () => page('preview', 200),
  },
  {
    name: 'app scheme',
    applies: ({ link }) => APP_SCHEMES.test(link.url),
    answer: (facts) => ({ ...arriveAtUrl(facts), page: 'app' }),
  },
  {
    name: 'cloaked',
    applies: ({ link }) => link.rewrite,
    answer: (facts) => ({ ...arriveAtUrl(facts), page: 'cloaked' }),
  },
  {
    name: 'ios',
    applies: ({ link, visit }) => link.ios !== null && visit.system() === 'ios',
    answer: ({ link }) => arrive(link, link.ios as string),
  },
  {
    name: 'android',
    applies: ({ link, visit }) => link.android !== null && visit.system() === 'android',
    answer: ({ link }) => arrive(link, link.android as string),
  },
  {
    name: 'country',
    applies: ({ link, visit }) => countryTarget(link, visit) !== undefined,
    answer: ({ link, visit }) => arrive(link, countryTarget(link, visit) as string),
  },
  { name: 'default', applies: () => true, answer: arriveAtUrl },
];

export function decide(link: VisitLink | undefined, domain: VisitDomain, visit: Visit): Decision {
  if (!link) return notFound(domain);
  const facts = { link, domain, visit };
  return (RULES.find((rule) => rule.applies(facts)) as Rule).answer(facts);
}

function page(name: PageName, status: 200 | 404 | 410): Decision {
  return { kind: 'page', page: name, status };
}

export function notFound({ notFoundUrl }: VisitDomain): Decision {
  return notFoundUrl ? { kind: 'elsewhere', status: 307, location: notFoundUrl } : page('not_found', 404);
}

function expired({ link, domain }: Facts): Decision {
  if (link.expiredUrl) return { kind: 'elsewhere', status: 302, location: link.expiredUrl };
  return domain.expiredUrl ? { kind: 'elsewhere', status: 307, location: domain.expiredUrl } : page('expired', 410);
}

export function passwordCookie(linkId: string): string {
  return `dub_password_${linkId}`;
}

function knowsPassword({ id, password }: VisitLink, { query, cookies }: Visit): boolean {
  return query.get('pw') === password || cookies.get(passwordCookie(id)) === password;
}

function countryTarget({ geo }: VisitLink, visit: Visit): string | undefined {
  const country = geo && visit.country();
  return country ? geo[country] : undefined;
}

type Arrival = Extract<Decision, { kind: 'arrive' }>;

function arrive(link: VisitLink, target: string): Arrival {
  return { kind: 'arrive', target, status: link.key === ROOT_KEY ? 301 : 302 };
}

/** The default destination, or the variant of a running test. */
function arriveAtUrl({ link, visit }: Facts): Arrival {
  const variant = chosenVariant(link, visit);
  return variant === undefined ? arrive(link, link.url) : { ...arrive(link, variant), variant };
}

function chosenVariant(link: VisitLink, visit: Visit): string | undefined {
  const { testVariants, testCompletedAt } = link;
  if (!testVariants || testVariants.length < 2 || testCompletedAt === null || testCompletedAt <= visit.nowMs) return undefined;
  const earlier = visit.cookies.get(TEST_COOKIE);
  if (earlier !== undefined && testVariants.some(({ url }) => url === earlier)) return earlier;
  const total = testVariants.reduce((sum, { percentage }) => sum + percentage, 0);
  let rest = visit.chance() * total;
  for (const { url, percentage } of testVariants) {
    rest -= percentage;
    if (rest < 0) return url;
  }
  return testVariants.at(-1)?.url;
}
