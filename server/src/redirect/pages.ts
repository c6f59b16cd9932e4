// The pages a visit can end on: small, readable on a phone, in the domain's own name and logo, without any
// outside script or style. Everything that comes from people is escaped.
import { createHash } from 'node:crypto';
import { shortLink } from '../links/link.ts';
import type { VisitDomain, VisitLink } from '../links/visit-link.ts';
import type { ArrivalPage, EndPage } from './decide.ts';

export type PageName = EndPage | ArrivalPage | 'unavailable';

const STYLE = `:root{color-scheme:light dark;--fg:#18181b;--muted:#5b5b66;--bg:#fafafa;--card:#fff;--line:#e4e4e7;--accent:#1d4ed8}
@media(prefers-color-scheme:dark){:root{--fg:#f4f4f5;--muted:#a1a1aa;--bg:#111113;--card:#1b1b1f;--line:#2e2e33;--accent:#7aa2ff}}
*{box-sizing:border-box}body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.25rem;background:var(--bg);color:var(--fg);font:1rem/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
main{width:100%;max-width:26rem;background:var(--card);border:1px solid var(--line);border-radius:14px;padding:1.75rem;overflow-wrap:anywhere}
img{max-width:100%;border-radius:8px}.logo{max-height:48px;margin-bottom:1rem}h1{font-size:1.25rem;line-height:1.3;margin:0 0 .5rem}p{margin:.5rem 0;color:var(--muted)}
label{display:block;margin:1rem 0 .35rem;font-weight:600}input{width:100%;font:inherit;padding:.65rem .75rem;border:1px solid var(--line);border-radius:8px;background:var(--bg);color:inherit}
button,a.button{display:inline-block;width:100%;margin-top:1rem;padding:.7rem 1rem;border:0;border-radius:8px;background:var(--accent);color:#fff;font:inherit;font-weight:600;text-align:center;text-decoration:none;cursor:pointer}
@media(prefers-color-scheme:dark){button,a.button{color:#0b1020}}a{color:var(--accent)}.error{color:#b91c1c}@media(prefers-color-scheme:dark){.error{color:#fca5a5}}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}dl{margin:1rem 0 0}dt{font-weight:600;font-size:.875rem}dd{margin:0 0 .75rem;color:var(--muted)}`;

const FRAME_STYLE =
  'html,body{margin:0;height:100%;overflow:hidden}iframe{border:0;width:100%;height:100%;display:block}';

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const STYLE_HASH = hashOf(STYLE);
const FRAME_HASH = hashOf(FRAME_STYLE);

export interface Page {
  readonly html: string;
  readonly policy: string;
}

export interface PageFacts {
  readonly link: VisitLink | null;
  readonly domain: VisitDomain;
  /** Where the page leads on to. */
  readonly target?: string;
  /** The password given was wrong, or too many were. */
  readonly problem?: string | undefined;
}

export function renderPage(name: PageName, facts: PageFacts): Page {
  return PAGES[name](facts);
}

const PAGES: Record<PageName, (facts: PageFacts) => Page> = {
  not_found: (facts) =>
    card(facts, 'Link not found', 'There is no link at this address. Check it for typing errors.'),
  banned: (facts) =>
    card(facts, 'Link disabled', 'This link was disabled because it broke the rules of this service.'),
  expired: (facts) => card(facts, 'Link expired', 'This link is no longer valid.'),
  unavailable: (facts) => card(facts, 'Try again in a moment', 'The link cannot be opened right now.'),
  placeholder: (facts) => card(facts, facts.domain.slug, 'This domain is used for short links.'),
  inspect: inspectPage,
  password: passwordPage,
  preview: previewPage,
  app: appPage,
  cloaked: cloakedPage,
};

function card(facts: PageFacts, title: string, text: string): Page {
  return framed(facts, title, `<h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p>`);
}

function framed({ domain }: PageFacts, title: string, body: string, form = false): Page {
  const logo =
    domain.logo && isWebAddress(domain.logo)
      ? `<img class="logo" src="${escapeHtml(domain.logo)}" alt="${escapeHtml(domain.slug)}">`
      : '';
  return {
    html: shell(
      title,
      `<meta name="robots" content="noindex"><style>${STYLE}</style>`,
      `<main>${logo}${body}</main>`,
    ),
    policy: `default-src 'none'; style-src ${STYLE_HASH}; img-src https: http: data:; form-action ${form ? "'self'" : "'none'"}; frame-ancestors 'none'; base-uri 'none'`,
  };
}

function shell(title: string, head: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${escapeHtml(title)}</title>${head}</head><body>${body}</body></html>`;
}

function inspectPage(facts: PageFacts): Page {
  const link = facts.link as VisitLink;
  const short = shortLink(link.domain, link.key);
  const rows = [
    ['Short link', short],
    ['Leads to', link.url || 'nowhere yet'],
    ['Title', link.title],
    ['About', link.description],
  ]
    .filter(([, value]) => value)
    .map(([name, value]) => `<dt>${name}</dt><dd>${escapeHtml(value as string)}</dd>`);
  const button = isWebAddress(link.url)
    ? `<a class="button" rel="nofollow noreferrer" href="${escapeHtml(short)}">Open the link</a>`
    : '';
  return framed(
    facts,
    'Where this link leads',
    `<h1>Where this link leads</h1><dl>${rows.join('')}</dl>${button}`,
  );
}

function passwordPage(facts: PageFacts): Page {
  const text = facts.problem && escapeHtml(facts.problem);
  const problem = text ? `<p class="error" role="alert" id="problem">${text}</p>` : '';
  const described = text ? ' aria-invalid="true" aria-describedby="problem"' : '';
  const form = `<form method="post"><label for="password">Password</label><input id="password" name="password" type="password" autocomplete="off" required autofocus${described}><button>Continue</button></form>`;
  return framed(
    facts,
    'Password required',
    `<h1>Password required</h1><p>This link is protected.</p>${problem}${form}`,
    true,
  );
}

/** What messengers and social networks read. It leads nowhere: only robots see it. */
function previewPage({ link }: PageFacts): Page {
  const { title, description, image, video, url, domain, key } = link as VisitLink;
  const name = title ?? URL.parse(url)?.hostname ?? domain;
  const meta = [
    ['name', 'description', description],
    ['property', 'og:title', name],
    ['property', 'og:description', description],
    ['property', 'og:url', shortLink(domain, key)],
    ['property', 'og:image', image],
    ['property', 'og:video', video],
    ['name', 'twitter:card', image ? 'summary_large_image' : 'summary'],
    ['name', 'twitter:title', name],
    ['name', 'twitter:description', description],
    ['name', 'twitter:image', image],
    ['name', 'twitter:player', video],
    ['name', 'robots', 'noindex'],
  ]
    .filter(([, , content]) => content)
    .map(([kind, label, content]) => `<meta ${kind}="${label}" content="${escapeHtml(content as string)}">`);
  const icon = URL.parse(url)?.origin;
  const link_ = icon && icon !== 'null' ? `<link rel="icon" href="${escapeHtml(icon)}/favicon.ico">` : '';
  return {
    html: shell(
      name,
      `${meta.join('')}${link_}<style>${STYLE}</style>`,
      `<main><h1>${escapeHtml(name)}</h1><p>${escapeHtml(description ?? '')}</p></main>`,
    ),
    policy: `default-src 'none'; style-src ${STYLE_HASH}; img-src https: http:; frame-ancestors 'none'; base-uri 'none'`,
  };
}

/** Browsers follow redirects to app schemes badly; a page that opens the app works everywhere. */
function appPage(facts: PageFacts): Page {
  const target = escapeHtml(facts.target ?? '');
  const { html, policy } = framed(
    facts,
    'Opening…',
    `<h1>Opening…</h1><p>Nothing happens?</p><a class="button" href="${target}">Open</a>`,
  );
  return {
    html: html.replace('<title>', `<meta http-equiv="refresh" content="0;url=${target}"><title>`),
    policy,
  };
}

function cloakedPage({ link, target = '' }: PageFacts): Page {
  const { title, description, image, domain } = link as VisitLink;
  const name = title ?? URL.parse(target)?.hostname ?? domain;
  const meta = [
    ['og:title', name],
    ['og:description', description],
    ['og:image', image],
  ]
    .filter(([, content]) => content)
    .map(([label, content]) => `<meta property="${label}" content="${escapeHtml(content as string)}">`);
  const head = `<meta name="robots" content="noindex">${meta.join('')}<style>${FRAME_STYLE}</style>`;
  return {
    html: shell(
      name,
      head,
      `<iframe src="${escapeHtml(target)}" title="${escapeHtml(name)}" allowfullscreen></iframe>`,
    ),
    policy: `default-src 'none'; style-src ${FRAME_HASH}; frame-src https: http:; img-src https: http: data:; frame-ancestors 'none'; base-uri 'none'`,
  };
}

function isWebAddress(url: string): boolean {
  return /^https?:\/\//i.test(url);
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
