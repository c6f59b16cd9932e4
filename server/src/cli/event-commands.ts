// The event store from the command line: how far it is, and making it anew.
import { z } from 'zod';
import type { EventCounts } from '../analytics/store.ts';
import { AppError } from '../kernel/errors.ts';
import { type Command, type Context, command } from './command.ts';

export interface EventStatus extends EventCounts {
  readonly lagBytes: number;
  readonly restarts: number;
  readonly sinks: readonly { name: string; position: string; lastError: string | null }[];
  readonly dropped: number;
}

export const eventCommands: readonly Command[] = [
  command({
    path: ['events'],
    summary: 'Show what the event store holds and how far it is behind',
    options: {
      settle: {
        schema: z.boolean().default(false),
        description: 'Wait until everything that has happened is stored.',
      },
    },
    run: async ({ app }: Context, { settle }): Promise<EventStatus> => {
      const { pipeline } = app.events;
      // Without a server nobody has started it yet.
      if (!pipeline.state().running) app.events.start();
      if (settle) await app.events.settle();
      const counts = JSON.parse(await pipeline.query('counts')) as EventCounts;
      const { lagBytes, restarts, sinks, dropped } = await pipeline.readState();
      return {
        ...counts,
        lagBytes,
        restarts,
        sinks: sinks.map(({ name, position, lastError }) => ({
          name,
          position: position ? `${position.segment}:${position.offset}` : 'start',
          lastError: lastError ?? null,
        })),
        dropped: Object.values(dropped).reduce((sum, count) => sum + count, 0),
      };
    },
    print: ({ clicks, links, lagBytes, dropped, sinks }) =>
      [
        `${clicks} clicks of ${links} links are stored; ${lagBytes} bytes of the journal are not yet.`,
        dropped > 0 ? `${dropped} records could not be read and were left out.` : '',
        ...sinks.flatMap(({ name, lastError }) => (lastError ? [`${name} fails: ${lastError}`] : [])),
      ]
        .filter(Boolean)
        .join('\n'),
  }),
  command({
    path: ['rebuild'],
    summary: 'Make the event store anew from archive and database; repeat it to go on if interrupted',
    run: async ({ app, signal, progress }: Context) => {
      const result = await app.events.rebuild({ signal, progress });
      if (!result.finished) throw new AppError('conflict', 'Interrupted. Repeat the command to go on.');
      return { ...result, keepsClicks: app.config.clickhouseUrl !== undefined };
    },
    print: ({ files, clicks, links, keepsClicks }) =>
      keepsClicks
        ? `Links, partners, leads and sales were taken from the database anew: ${links} links. ClickHouse keeps the clicks itself: ${clicks}.`
        : `Rebuilt from ${files} archive ${files === 1 ? 'file' : 'files'}: ${clicks} clicks, ${links} links. What is in the journal follows.`,
  }),
];
