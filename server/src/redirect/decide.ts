// What a visit gets, decided from plain values by one table of rules: the first that applies answers. Pure:
// it reads no clock, no store and no request, and changes nothing.
import { sameSecret } from '../kernel/ids.ts';
import { ROOT_KEY } from '../links/link.ts';
import type { VisitDomain, VisitLink } from '../links/visit-link.ts';
import type { Visit } from './visit.ts';

/** Pages that end a visit. */
export type EndPage = 'not_found' | 'inspect' | 'password' | 'banned' | 'expired' | 'preview';
/** Pages that show or open the destination. */
export type ArrivalPage = 'placeholder' | 'app' | 'cloaked';

export type Decision =
  | {
      readonly kind: 'elsewhere';
      readonly status: 302 | 307;
      readonly location: string;
      readonly insteadOf: 'not_found' | 'expired';
    }
  | { readonly kind: 'page'; readonly page: EndPage; readonly status: 200 | 404 | 410 }
  /** A visit that reached its destination: counted, and sent on or shown a page that leads on. */
  | {
      readonly kind: 'arrive';
      readonly target: string;
      readonly status: 301 | 302;
      readonly page?: ArrivalPage;
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
const MAX_VARIANTS = 4;
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
  {
    name: 'disabled',
    applies: ({ link }) => link.disabledAt !== null,
    answer: ({ domain }) => notFound(domain),
  },
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
    // Nearly all lead to a web page, which the first letters tell.
    applies: ({ link }) => !link.url.startsWith('http') && APP_SCHEMES.test(link.url),
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

export function decide(link: VisitLink | null, domain: VisitDomain, visit: Visit): Decision {
  if (!link) return notFound(domain);
  const facts = { link, domain, visit };
  return (RULES.find((rule) => rule.applies(facts)) as Rule).answer(facts);
}

function page(name: EndPage, status: 200 | 404 | 410): Decision {
  return { kind: 'page', page: name, status };
}

function notFound({ notFoundUrl }: VisitDomain): Decision {
  return notFoundUrl
    ? { kind: 'elsewhere', status: 307, location: notFoundUrl, insteadOf: 'not_found' }
    : page('not_found', 404);
}

function expired({ link, domain }: Facts): Decision {
  if (link.expiredUrl)
    return { kind: 'elsewhere', status: 302, location: link.expiredUrl, insteadOf: 'expired' };
  if (domain.expiredUrl)
    return { kind: 'elsewhere', status: 307, location: domain.expiredUrl, insteadOf: 'expired' };
  return page('expired', 410);
}

export function passwordCookie(linkId: string): string {
  return `dub_password_${linkId}`;
}

/** The cookie is named by the link's id, which nobody can guess: trying it out needs no limit. */
function knowsPassword({ id, password }: VisitLink, { query, cookie, passwordsRefused }: Visit): boolean {
  const typed = passwordsRefused ? null : query.get('pw');
  const remembered = cookie(passwordCookie(id));
  return [typed, remembered].some(
    (given) => typeof given === 'string' && sameSecret(given, password as string),
  );
}

function countryTarget({ geo }: VisitLink, visit: Visit): string | undefined {
  const country = geo && visit.country();
  return country && Object.hasOwn(geo, country) ? geo[country] : undefined;
}

export type Arrival = Extract<Decision, { kind: 'arrive' }>;

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
  if (
    !testVariants ||
    testVariants.length < 2 ||
    testVariants.length > MAX_VARIANTS ||
    testCompletedAt === null ||
    testCompletedAt <= visit.nowMs
  )
    return undefined;
  const earlier = visit.cookie(TEST_COOKIE);
  if (earlier !== undefined && testVariants.some(({ url }) => url === earlier)) return earlier;
  const total = testVariants.reduce((sum, { percentage }) => sum + percentage, 0);
  let rest = visit.chance() * total;
  for (const { url, percentage } of testVariants) {
    rest -= percentage;
    if (rest < 0) return url;
  }
  return testVariants.at(-1)?.url;
}
