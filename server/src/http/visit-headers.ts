// The headers that every request is asked for, read straight from the list as it came over the wire: a browser sends
// many more, and a visit need not pay for those. The API has the object of all headers built when it first asks.

const NONE_SENT = {
  host: undefined,
  'user-agent': undefined,
  referer: undefined,
  cookie: undefined,
  'x-forwarded-for': undefined,
  'x-forwarded-proto': undefined,
  'x-forwarded-host': undefined,
  'dub-no-track': undefined,
  'sec-purpose': undefined,
  purpose: undefined,
  'x-purpose': undefined,
  'x-moz': undefined,
};

type Name = keyof typeof NONE_SENT;
/** Fields are named as Node names them, and repeated ones are joined or dropped as Node does. */
export type VisitHeaders = Record<Name, string | undefined>;

const NAMES = Object.keys(NONE_SENT) as Name[];
const SINGLE: ReadonlySet<Name> = new Set(['host', 'user-agent', 'referer']);
/** Most names have a length that none of ours has: one look at an array, no comparison of texts. */
const BY_LENGTH = Array.from({ length: 32 }, (_, length) => NAMES.filter((name) => name.length === length));
const NONE: readonly Name[] = [];

/** `raw` is the list of names and values in turns. */
export function readVisitHeaders(raw: readonly string[]): VisitHeaders {
  const headers: VisitHeaders = { ...NONE_SENT };
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const given = raw[i] as string;
    const candidates = BY_LENGTH[given.length] ?? NONE;
    if (candidates.length > 0) take(headers, candidates, given, raw[i + 1] as string);
  }
  return headers;
}

function take(headers: VisitHeaders, candidates: readonly Name[], given: string, value: string): void {
  const name = find(candidates, given) ?? find(candidates, given.toLowerCase());
  if (name === undefined) return;
  const earlier = headers[name];
  if (earlier === undefined) headers[name] = value;
  else if (!SINGLE.has(name)) headers[name] = `${earlier}${name === 'cookie' ? '; ' : ', '}${value}`;
}

function find(candidates: readonly Name[], text: string): Name | undefined {
  for (const name of candidates) if (name === text) return name;
  return undefined;
}

/** Whether there is a Host header, which nearly always comes first. */
export function namesHost(raw: readonly string[]): boolean {
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string;
    if (name.length === 4 && (name === 'Host' || name === 'host' || name.toLowerCase() === 'host'))
      return true;
  }
  return false;
}
