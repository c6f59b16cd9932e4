// The script that pages load: it keeps the click of a visitor in a cookie of the site, reports clicks and visits,
// carries clicks to other domains and sends leads and sales. What is not configured does nothing. Calls that were
// made before it was loaded wait in the queue of the loader's stub.
import { createClicks, type Shown } from './clicks.ts';
import { createConversions } from './conversions.ts';
import { createCookies } from './cookies.ts';
import { carryClicks } from './outbound.ts';
import { createPost } from './post.ts';
import { readSettings } from './settings.ts';

type Call = ArrayLike<unknown>;
type Method = (...words: never[]) => unknown;
type Stub = ((...words: unknown[]) => unknown) & { q?: Call[] } & Record<string, unknown>;

declare global {
  interface Window {
    dubAnalytics?: Stub;
    DubAnalytics?: Shown;
  }
}

function start(): void {
  const settings = readSettings(document.currentScript as HTMLScriptElement | null);
  const cookies = createCookies(settings.cookie);
  const post = createPost(settings.apiHost);
  window.DubAnalytics ||= { partner: null, discount: null };
  const clicks = createClicks(settings, cookies, post, window.DubAnalytics);
  const { publishableKey } = settings;
  const conversions = createConversions({ publishableKey, cookies, post, settled: clicks.settled });
  const methods: Record<string, Method> = {
    trackClick: clicks.track,
    ...conversions,
    /** With what is known of the partner, once a click that is under way was answered. */
    ready: (done: () => void) => clicks.settled().then(() => done()),
  };
  const queue = window.dubAnalytics?.q ?? [];
  const call = (name: unknown, ...words: unknown[]) => methods[String(name)]?.(...(words as never[]));
  // A loader that runs again puts its own methods over these: what they queue is done at once.
  const q = { push: (entry: Call) => call(...(Array.from(entry) as [unknown, ...unknown[]])) };
  window.dubAnalytics = Object.assign(call, methods, { q }) as unknown as Stub;
  clicks.start();
  const calls = queue.map((entry) => Array.from(entry));
  // Clicks first: what else waits may need theirs.
  for (const [name, ...words] of calls) if (name === 'trackClick') call(name, ...words);
  for (const [name, ...words] of calls) if (name !== 'trackClick') call(name, ...words);
  if (settings.domains.outbound.length > 0) carryClicks(settings.domains.outbound, cookies);
}

start();
