// What the page asks for, read from the attributes of the script's own element.

export interface Settings {
  /** The address that `/track/…` is appended to. */
  readonly apiHost: string;
  readonly publishableKey: string | null;
  readonly domains: { readonly refer?: string; readonly site?: string; readonly outbound: readonly string[] };
  readonly keepsFirstClick: boolean;
  readonly cookie: Readonly<Record<string, unknown>>;
  /** Parameters of the page's address that may hold the key of a link, in order. */
  readonly keyParams: readonly string[];
}

export function readSettings(script: HTMLScriptElement | null): Settings {
  const attribute = (name: string) => script?.getAttribute(`data-${name}`) || null;
  const domains = readObject(attribute('domains'));
  const refer = text(domains.refer) || attribute('short-domain');
  const site = text(domains.site);
  return {
    apiHost: (attribute('api-host') ?? ownApi(script)).replace(/\/+$/, ''),
    publishableKey: attribute('publishable-key'),
    domains: { ...(refer && { refer }), ...(site && { site }), outbound: readList(domains.outbound) },
    keepsFirstClick: attribute('attribution-model') === 'first-click',
    cookie: readObject(attribute('cookie-options')),
    keyParams: unique([
      ...readList(parse(attribute('query-params'))),
      ...readList(attribute('query-param')),
      'via',
    ]),
  };
}

/** The instance that served the script. */
function ownApi(script: HTMLScriptElement | null): string {
  return `${new URL(script?.src || location.href, location.href).origin}/api`;
}

/** Undefined when it is no JSON. */
function parse(value: string | null): unknown {
  try {
    return JSON.parse(value || 'null');
  } catch {
    return undefined;
  }
}

function readObject(value: string | null): Record<string, unknown> {
  const parsed = parse(value);
  return parsed && typeof parsed === 'object' ? (parsed as Record<string, unknown>) : {};
}

const text = (value: unknown) => (typeof value === 'string' ? value : '');

/** A list, or one text with commas. */
function readList(value: unknown): string[] {
  const items = Array.isArray(value) ? value : text(value).split(',');
  return items.map((item) => text(item).trim()).filter(Boolean);
}

function unique(items: readonly string[]): string[] {
  return Array.from(new Set(items));
}
