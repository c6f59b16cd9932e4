// Events as they are recorded, over connections that stay open. One look at the store per second serves all streams;
// a stream that has news reads them when its client has taken what came before. The number of streams is bounded,
// and each ends after a while: its client comes back with the last id, and with a key that is still good.
import type { Actor, Reply } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError, invalid } from '../kernel/errors.ts';
import { type EventFollower, formatCursor, parseCursor } from './event-follower.ts';
import type { FilterParams } from './event-params.ts';
import type { EventQuestions } from './event-questions.ts';
import type { Events } from './events.ts';
import type { EventKind, Query } from './query.ts';

export interface StreamLimits {
  readonly perWorkspace: number;
  readonly all: number;
  readonly lifeMs: number;
}

export interface EventStreamsParts {
  readonly follower: EventFollower;
  readonly questions: Pick<EventQuestions, 'readTimeless'>;
  readonly events: Pick<Events, 'presentEach'>;
  readonly clock: Clock;
  readonly pollMs?: number;
  readonly heartbeatMs?: number;
  readonly limits?: StreamLimits;
}

export interface StreamParams extends FilterParams {
  readonly event: EventKind;
}

interface Opening {
  readonly lastEventId: string | undefined;
  readonly origin: string;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
}

const DEFAULT_LIMITS: StreamLimits = { perWorkspace: 20, all: 500, lifeMs: 15 * 60_000 };
const EVENTS_PER_CHUNK = 200;
const RETRY_MS = 2_000;
const NAMES = { clicks: 'click', leads: 'lead', sales: 'sale' } as const;
const HEADERS = { 'Cache-Control': 'no-cache, no-transform', 'X-Accel-Buffering': 'no' };

export function createEventStreams(parts: EventStreamsParts) {
  const { follower, questions, events, clock, limits = DEFAULT_LIMITS } = parts;
  const { pollMs = 1_000, heartbeatMs = 15_000 } = parts;
  const table = createStreamTable(follower, limits, pollMs);
  const times = { lifeLooks: limits.lifeMs / pollMs, heartbeatLooks: heartbeatMs / pollMs };

  /** Reads what matches between two cursors, as messages. */
  function readerOf(query: Query & { kind: EventKind }, origin: string): ReadNews {
    return async (after, upTo, signal) => {
      const found = await follower.follow({ ...query, after, upTo, limit: EVENTS_PER_CHUNK }, signal);
      const records = found.events.map(({ record }) => record);
      const shown = await events.presentEach(query.workspaceId, query.kind, records, origin);
      const messages = found.events.map(({ cursor }, i) => shown[i] && message(query.kind, cursor, shown[i]));
      return { text: messages.join(''), cursor: found.cursor, more: found.more };
    };
  }

  return {
    async open(actor: Actor, params: StreamParams, { lastEventId, origin, signal }: Opening): Promise<Reply> {
      if (lastEventId && !parseCursor(lastEventId))
        throw invalid('lastEventId', 'must be the id of an event of this stream');
      const query = { ...(await questions.readTimeless(actor, params)), kind: params.event };
      const stream = table.admit(actor.workspaceId);
      signal.addEventListener('abort', () => table.release(stream), { once: true });
      try {
        const end = await table.findEnd();
        const from = lastEventId || startingAt(end, clock.now());
        const next = createChunks({
          stream,
          from,
          read: readerOf(query, origin),
          findNews: table.end,
          times,
        });
        const body = streamBody(from, next, () => table.release(stream));
        return { contentType: 'text/event-stream', headers: HEADERS, body };
      } catch (error) {
        table.release(stream);
        throw error;
      }
    },

    size: table.size,

    /** Ends all streams: their clients come back to whoever listens then. */
    close: table.close,
  };
}

export type EventStreams = ReturnType<typeof createEventStreams>;

interface Stream {
  readonly workspaceId: string;
  readonly stop: AbortController;
  /** Looks at the store since it was opened, and since it last had something to say. */
  looks: number;
  silence: number;
  /** Called at each look; undefined while it is busy. */
  wake: (() => void) | undefined;
}

/** The open streams, and the one look at the store that serves them all. */
function createStreamTable(follower: EventFollower, limits: StreamLimits, pollMs: number) {
  const streams = new Set<Stream>();
  let timer: NodeJS.Timeout | undefined;
  let end: string | undefined;

  /** The next look waits for this one: a slow store is not asked again before it has answered. */
  async function look(): Promise<void> {
    // A store that cannot be asked at the moment has no news.
    end = (await follower.findEnd().catch(() => undefined)) ?? end;
    for (const stream of streams) {
      stream.looks += 1;
      stream.silence += 1;
      stream.wake?.();
    }
    timer = streams.size > 0 ? setTimeout(look, pollMs) : undefined;
  }

  function release(stream: Stream): void {
    streams.delete(stream);
    stream.stop.abort();
    stream.wake?.();
  }

  return {
    release,
    size: () => streams.size,
    /** The end of the store as it was last seen. */
    end: () => end,
    async findEnd(): Promise<string> {
      end = await follower.findEnd();
      return end;
    },
    admit(workspaceId: string): Stream {
      const own = [...streams].filter((stream) => stream.workspaceId === workspaceId).length;
      if (own >= limits.perWorkspace) throw tooMany(`This workspace has ${own} streams open already.`);
      if (streams.size >= limits.all) throw tooMany('Too many streams are open already.');
      const stop = new AbortController();
      const stream: Stream = { workspaceId, stop, looks: 0, silence: 0, wake: undefined };
      streams.add(stream);
      timer ??= setTimeout(look, pollMs);
      return stream;
    },
    close(): void {
      clearTimeout(timer);
      for (const stream of streams) release(stream);
    },
  };
}

type ReadNews = (
  after: string,
  upTo: string,
  signal: AbortSignal,
) => Promise<{ readonly text: string; readonly cursor: string; readonly more: boolean }>;

interface ChunkParts {
  readonly stream: Stream;
  readonly from: string;
  readonly read: ReadNews;
  readonly findNews: () => string | undefined;
  readonly times: { readonly lifeLooks: number; readonly heartbeatLooks: number };
}

/** What one client is sent next, as soon as there is something; undefined when the stream is over. */
function createChunks({ stream, from, read, findNews, times }: ChunkParts) {
  const { signal } = stream.stop;
  let cursor = from;
  let seen: string | undefined;

  async function readNews(): Promise<string> {
    const upTo = findNews();
    if (upTo === undefined || upTo === seen) return '';
    const news = await read(cursor, upTo, signal);
    cursor = news.cursor;
    seen = news.more ? undefined : upTo;
    return news.text;
  }

  return async (): Promise<string | undefined> => {
    while (!signal.aborted && stream.looks < times.lifeLooks) {
      const text = await readNews();
      if (text !== '' || stream.silence >= times.heartbeatLooks) {
        stream.silence = 0;
        return text || `id: ${cursor}\n: still here\n\n`;
      }
      // Stopped meanwhile, nobody would wake it any more; with more to read, it need not sleep.
      if (signal.aborted || seen === undefined) continue;
      await new Promise<void>((resolve) => {
        stream.wake = resolve;
      });
      stream.wake = undefined;
    }
    return undefined;
  };
}

/** Asks for the next chunk when the client has taken the one before. */
function streamBody(
  from: string,
  next: () => Promise<string | undefined>,
  release: () => void,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(Buffer.from(`retry: ${RETRY_MS}\nid: ${from}\n\n`)),
    async pull(controller) {
      try {
        const text = await next();
        if (text !== undefined) return controller.enqueue(Buffer.from(text));
      } catch {
        // Read again from the last id, when the client comes back.
      }
      release();
      controller.close();
    },
    cancel: release,
  });
}

/** A place with its time, by which it is found again should the store be rebuilt. */
function startingAt(cursor: string, timeMs: number): string {
  const place = parseCursor(cursor);
  return place ? formatCursor({ ...place, timeMs }) : cursor;
}

/** JSON has no line breaks of its own, so an event is one line. */
function message(kind: EventKind, id: string, data: object): string {
  return `event: ${NAMES[kind]}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
}

function tooMany(text: string): AppError {
  return new AppError('rate_limit_exceeded', `${text} Close one, or try again later.`, {
    retryAfterSeconds: 30,
  });
}
