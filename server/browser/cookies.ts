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
      const { expiresInDays, ...others } = options;
      const days = Number(expiresInDays) || DEFAULT_DAYS;
      const attributes: Record<string, unknown> = {
        domain: siteDomain(),
        path: '/',
        sameSite: 'Lax',
        expires: new Date(Date.now() + days * DAY_MS).toUTCString(),
        ...others,
      };
      const set = Object.entries(attributes).filter(([, setting]) => setting);
      const parts = set.map(([key, setting]) => (setting === true ? key : `${key}=${setting}`));
      document.cookie = [`${name}=${value}`, ...parts].join('; ');
    },
  };
}

/** Also for the subdomains; machines without a domain take a cookie only without one. */
function siteDomain(): string {
  const { hostname } = location;
  const hasDomain = hostname !== 'localhost' && !/^[\d.]+$|:/.test(hostname);
  return hasDomain ? `.${hostname.replace(/^www\./, '')}` : '';
}
