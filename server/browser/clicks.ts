// Clicks that the page reports: by the key of a partner's link in its address, by itself as a visit, or because
// the site's own code asks for it.
import { CLICK_COOKIE, type Cookies, PARTNER_COOKIE } from './cookies.ts';
import { type Post, succeeded } from './post.ts';
import type { Settings } from './settings.ts';

interface Partner {
  name: string;
  image: string | null;
  [field: string]: unknown;
}

/** What the site's own code can read. */
export interface Shown {
  partner: Partner | null;
  discount: object | null;
}

interface ClickAnswer {
  clickId: string;
  partner?: Partner;
  discount?: object | null;
}

export interface Clicks {
  /** What the address of the page asks for. */
  start(): void;
  track(link: { domain?: string; key?: string }): Promise<void>;
  /** Resolves when no report is under way. */
  settled(): Promise<unknown>;
}

export function createClicks(settings: Settings, cookies: Cookies, post: Post, shown: Shown): Clicks {
  const { refer, site } = settings.domains;
  const page = new URLSearchParams(location.search);
  const given = readClickId(page.get(CLICK_COOKIE));
  let reported = false;
  let pending: Promise<unknown> = Promise.resolve();

  const mayKeep = () => !settings.keepsFirstClick || !cookies.read(CLICK_COOKIE);

  function track({ domain = refer, key }: { domain?: string; key?: string }): Promise<void> {
    if (reported || !domain || !key) return Promise.resolve();
    reported = true;
    const answer = post('/track/click', { domain, key, url: location.href, referrer: document.referrer });
    const done = answer.then(({ status, body }) => {
      if (succeeded(status)) keep(body as ClickAnswer);
    });
    pending = done;
    return done;
  }

  function keep(answer: ClickAnswer): void {
    if (given && given !== answer.clickId) {
      console.warn(`The address holds another click (${given}) than the one reported (${answer.clickId}).`);
      return;
    }
    cookies.write(CLICK_COOKIE, answer.clickId);
    if (!answer.partner) return;
    const { name, image } = answer.partner;
    const partner = { ...answer.partner, name: encode(name), image: image ? encode(image) : null };
    // A semicolon would end the cookie; JSON has another way to write it.
    cookies.write(PARTNER_COOKIE, JSON.stringify({ ...answer, partner }).replace(/;/g, '\\u003b'));
    show(answer);
  }

  function show({ partner, discount }: Pick<ClickAnswer, 'partner' | 'discount'>): void {
    shown.partner = partner ?? null;
    shown.discount = discount ?? null;
  }

  function visit(domain: string): void {
    const answer = post('/track/visit', { domain, url: location.href, referrer: document.referrer });
    pending = answer.then(({ status, body }) => {
      if (succeeded(status)) cookies.write(CLICK_COOKIE, (body as ClickAnswer).clickId);
    });
  }

  return {
    start() {
      const key = settings.keyParams.map((name) => page.get(name)).find(Boolean);
      const free = mayKeep();
      if (given && free) cookies.write(CLICK_COOKIE, given);
      if (key && refer) {
        if (free) void track({ domain: refer, key });
      } else if (site && !cookies.read(CLICK_COOKIE)) visit(site);
      const stored = readPartner(cookies.read(PARTNER_COOKIE));
      if (stored) show(stored);
    },
    track,
    settled: () => pending,
  };
}

/** Whoever made the address wrote it: what could be more than the value of a cookie is no id. */
function readClickId(value: string | null): string | undefined {
  return value && /^[^\s;,]{1,255}$/.test(value) ? value : undefined;
}

/** A cookie cannot hold every character. */
function encode(value: string): string {
  return encodeURIComponent(value);
}

function readPartner(cookie: string | undefined): Pick<ClickAnswer, 'partner' | 'discount'> | undefined {
  try {
    if (!cookie) return undefined;
    const { partner, discount = null } = JSON.parse(cookie) as ClickAnswer;
    if (!partner) return { discount };
    const { name, image } = partner;
    return {
      partner: { ...partner, name: decodeURIComponent(name), image: image && decodeURIComponent(image) },
      discount,
    };
  } catch {
    return undefined;
  }
}
