// The operations that list events, hand them out as files and stream them.
import { z } from 'zod';
import { type Call, type Operation, operation, repliesWith, requires } from '../http/operation.ts';
import { type EventExports, EXPORT_FORMATS, EXPORT_TYPES } from './event-export.ts';
import { filterParams, timeParams } from './event-params.ts';
import type { EventQuestions } from './event-questions.ts';
import { eventSchema } from './event-records.ts';
import type { EventStreams } from './event-stream.ts';
import { COLUMN_NAMES } from './event-table.ts';
import type { Events } from './events.ts';
import { EVENT_KINDS } from './query.ts';

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 100;
const ORDERS = ['asc', 'desc'] as const;

const event = z.enum(EVENT_KINDS).default('clicks').describe('The kind of events.');

const orderParams = {
  sortOrder: z.enum(ORDERS).default('desc').describe('Oldest or newest first.'),
  sortBy: z.enum(['timestamp']).default('timestamp').describe('The field to sort by.'),
  order: z.enum(ORDERS).default('desc').describe('Use sortOrder.').meta({ deprecated: true }),
};

const listQuery = z.object({
  event,
  ...filterParams,
  ...timeParams,
  page: z.int().min(1).default(1).describe('The page, counted from 1.'),
  limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT).describe('Events per page.'),
  ...orderParams,
});

const exportQuery = z.object({
  format: z.enum(EXPORT_FORMATS).default('csv').describe('The kind of file.'),
  columns: z
    .array(z.string())
    .max(COLUMN_NAMES.length)
    .optional()
    .describe(`For csv: the columns and their order, of ${COLUMN_NAMES.join(', ')}. All by default.`),
  event,
  ...filterParams,
  ...timeParams,
  ...orderParams,
});

const streamQuery = z.object({
  event,
  ...filterParams,
  lastEventId: z
    .string()
    .optional()
    .describe('As the header Last-Event-ID, for clients that cannot send it: what came after that event.'),
});

/** Clients send both; the older one counts where it says something else than the default. */
function withOrder<Q extends { order: 'asc' | 'desc'; sortOrder: 'asc' | 'desc' }>(query: Q): Q {
  return { ...query, order: query.order === 'desc' ? query.sortOrder : query.order };
}

const readingOf = ({ request }: Pick<Call, 'request'>) => ({
  origin: request.origin,
  signal: request.signal,
});

export interface EventOperationsParts {
  readonly events: Events;
  readonly eventExports: EventExports;
  readonly eventStreams: EventStreams;
  readonly eventQuestions: EventQuestions;
}

export function eventOperations(parts: EventOperationsParts): Operation[] {
  const { events, eventExports, eventStreams, eventQuestions } = parts;
  const common = {
    method: 'GET',
    group: 'Events',
    access: requires('analytics.read', 'business'),
    before: eventQuestions.assertWithinUsage,
  } as const;
  return [
    operation({
      ...common,
      id: 'listEvents',
      path: '/events',
      summary: 'List events',
      description: 'Clicks, leads or sales, each with its link as it is now. All filters must match.',
      rate: 'analytics',
      query: listQuery,
      response: { status: 200, description: 'The events.', schema: z.array(eventSchema) },
      run: (call, actor) => events.list(actor, withOrder(call.query), readingOf(call)),
    }),
    operation({
      ...common,
      id: 'exportEvents',
      path: '/events/export',
      summary: 'Download events',
      description:
        'All events that match, however many: as CSV, as lines of JSON like those of the list, or as Parquet.',
      query: exportQuery,
      response: {
        status: 200,
        description: 'The file.',
        ...repliesWith(...Object.values(EXPORT_TYPES)),
      },
      run: (call, actor) => eventExports.export(actor, withOrder(call.query), readingOf(call)),
    }),
    operation({
      ...common,
      id: 'streamEvents',
      path: '/events/stream',
      summary: 'Follow events as they are recorded',
      description:
        'Server-sent events, each named click, lead or sale, with an event of the list as data. A client that comes back with the id of the last one gets what it missed, and nothing twice.',
      query: streamQuery,
      response: { status: 200, description: 'The stream.', ...repliesWith('text/event-stream') },
      run: ({ query, request }, actor) =>
        eventStreams.open(actor, query, {
          lastEventId: request.header('last-event-id') ?? query.lastEventId,
          origin: request.origin,
          signal: request.signal,
        }),
    }),
  ];
}
