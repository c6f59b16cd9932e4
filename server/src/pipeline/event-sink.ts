// The sink that feeds the event store. After a failure the store is opened again, since an engine that has
// failed inside refuses everything from then on.
import { type LinkRow, latestLinks, readLinkChange } from '../analytics/link-row.ts';
import type { EventStore } from '../analytics/store.ts';
import type { Sink } from '../events/consumer.ts';
import { clicksOf, type PipelineEvent } from './pipeline-event.ts';

export interface OpenedStore<S extends EventStore> {
  /** Opens it when it is not open. */
  get(): Promise<S>;
  /** Closes it; the next who asks opens it again. */
  reset(): Promise<void>;
}

export function createOpenedStore<S extends EventStore>(open: () => Promise<S>): OpenedStore<S> {
  let opened: Promise<S> | undefined;
  return {
    get() {
      if (opened) return opened;
      const opening = open();
      opened = opening;
      opening.catch(() => {
        if (opened === opening) opened = undefined;
      });
      return opening;
    },
    async reset() {
      const store = opened;
      opened = undefined;
      await store?.then((value) => value.close()).catch(() => {});
    },
  };
}

export function createEventSink(store: OpenedStore<EventStore>, name = 'events'): Sink<PipelineEvent> {
  return {
    name,
    committed: async () => (await store.get()).committed(),
    async append(events, upTo) {
      const clicks = clicksOf(events);
      const links: LinkRow[] = [];
      for (const event of events) {
        const link = event.kind === 'change' ? readLinkChange(event.change) : undefined;
        if (link) links.push(link);
      }
      try {
        await (await store.get()).append({ clicks, links: latestLinks(links) }, upTo);
      } catch (error) {
        await store.reset();
        throw error;
      }
    },
  };
}
