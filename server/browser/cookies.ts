// The two cookies of a visitor, kept on the site itself: the id of the click, and the partner it came from.

export const CLICK_COOKIE = 'dub_id';
export const PARTNER_COOKIE = 'dub_partner_data';

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 90;

export interface Cookies {
  read(name: string): string | undefined;
  write(name: string, value: string): void;
}

export function createCookies(options: Readonly<Record<string, unknown>>): Cookies {
  return {
    read(name) {
      const start = `${name}=`;
      const found = document.cookie.split('; ').find((part) => part.startsWith(start));
      return found?.slice(start.length) || undefined;
    },
    write(name, value) {
      const set = Object.entries(attributesOf(options)).filter(([, setting]) => setting);
      const parts = set.map(([key, setting]) => (setting === true ? key : `${key}=${setting}`));
      document.cookie = [`${name}=${value}`, ...parts].join('; ');
    },
  };
}

/** What the site asks for in the words of cookies. `httpOnly` is left out: a script cannot make such a cookie. */
function attributesOf(options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { expires, expiresInDays, maxAge, sameSite = 'Lax', httpOnly: _, ...others } = options;
  const days = Number(expiresInDays) || DEFAULT_DAYS;
  const end = expires ? new Date(String(expires)) : new Date(Date.now() + days * DAY_MS);
  return {
    domain: siteDomain(),
    path: '/',
    sameSite: sameSite === true ? 'Strict' : sameSite,
    expires: end.toUTCString(),
    'max-age': maxAge,
    ...others,
  };
}

/** Also for the subdomains; machines without a domain take a cookie only without one. */
function siteDomain(): string {
  const { hostname } = location;
  const hasDomain = hostname !== 'localhost' && !/^[\d.]+$|:/.test(hostname);
  return hasDomain ? `.${hostname.replace(/^www\./, '')}` : '';
}
