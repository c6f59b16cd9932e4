// The password of a link: reads the form and limits how often a wrong one may be tried. Bounded: of very many
// links under attack at once, those attacked least lately are forgotten.
import type { IncomingMessage } from 'node:http';
import { createBoundedMap } from '../kernel/bounded-map.ts';
import type { Clock } from '../kernel/clock.ts';

export interface PasswordLimit {
  refuses(linkId: string): boolean;
  failed(linkId: string): void;
}

const MAX_FAILURES = 30;
const PERIOD_MS = 600_000;
const MAX_LINKS = 20_000;
const MAX_FORM_BYTES = 8 * 1024;

/** 30 wrong ones per link in ten minutes from the first. */
export function createPasswordLimit(clock: Clock): PasswordLimit {
  const failures = createBoundedMap<string, { count: number; readonly sinceMs: number }>(MAX_LINKS);
  const current = (linkId: string) => {
    const entry = failures.get(linkId);
    return entry && Math.abs(clock.now() - entry.sinceMs) < PERIOD_MS ? entry : undefined;
  };
  return {
    refuses: (linkId) => (current(linkId)?.count ?? 0) >= MAX_FAILURES,
    failed(linkId) {
      const entry = current(linkId);
      if (entry) entry.count += 1;
      else failures.set(linkId, { count: 1, sinceMs: clock.now() });
    },
  };
}

/** The password in a sent form; undefined when there is none, it is too large, or the visitor went away. */
export function readPassword(request: IncomingMessage): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  // A request that announced no body has none, and sends no event for it.
  if (request.readableEnded) resolve(undefined);
  const parts: Buffer[] = [];
  let bytes = 0;
  request.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes > MAX_FORM_BYTES) resolve(undefined);
    else parts.push(part);
  });
  request.on('end', () => {
    const form = new URLSearchParams(Buffer.concat(parts).toString('utf8'));
    resolve(form.get('password') ?? undefined);
  });
  request.on('close', () => resolve(undefined));
  return promise;
}
