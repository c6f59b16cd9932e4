// Carries the click over to other domains of the site's owner: links and frames that lead there get its id.
import { CLICK_COOKIE, type Cookies } from './cookies.ts';

const EVERY_MS = 2_000;

export function carryClicks(domains: readonly string[], cookies: Cookies): void {
  const own = bare(location.hostname);

  function isListed(host: string): boolean {
    return domains.some((domain) =>
      domain.startsWith('*.') ? host.endsWith(domain.slice(1)) : host === bare(domain),
    );
  }

  /** The address with the id, or undefined when it is to stay as it is. */
  function withClick(address: string | null, clickId: string): string | undefined {
    if (!address) return undefined;
    try {
      const url = new URL(address, location.href);
      const host = bare(url.hostname);
      if (!/^https?:$/.test(url.protocol) || host === own || !isListed(host)) return undefined;
      if (url.searchParams.has(CLICK_COOKIE)) return undefined;
      url.searchParams.set(CLICK_COOKIE, clickId);
      return url.href;
    } catch {
      return undefined;
    }
  }

  function mark(root: ParentNode, clickId: string): boolean {
    let marked = false;
    for (const [selector, attribute] of [
      ['a[href]', 'href'],
      ['iframe[src]', 'src'],
    ] as const) {
      for (const element of Array.from(root.querySelectorAll(selector))) {
        const address = withClick(element.getAttribute(attribute), clickId);
        if (!address) continue;
        element.setAttribute(attribute, address);
        marked = true;
      }
    }
    return marked;
  }

  /** Frames whose page stands in the attribute itself. */
  function markInner(frame: Element, clickId: string): void {
    const inner = new DOMParser().parseFromString(frame.getAttribute('srcdoc') ?? '', 'text/html');
    if (mark(inner, clickId)) frame.setAttribute('srcdoc', inner.documentElement.outerHTML);
  }

  function run(): void {
    const clickId = cookies.read(CLICK_COOKIE);
    if (!clickId) return;
    mark(document, clickId);
    for (const frame of Array.from(document.querySelectorAll('iframe[srcdoc]'))) markInner(frame, clickId);
  }

  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', run);
  else run();
  setInterval(run, EVERY_MS);
  addEventListener('popstate', run);
  for (const name of ['pushState', 'replaceState'] as const) {
    const original = history[name];
    history[name] = function (this: History, ...words: Parameters<History['pushState']>) {
      original.apply(this, words);
      run();
    };
  }
}

const bare = (host: string) => host.replace(/^www\./, '');
