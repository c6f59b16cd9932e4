// The sink that feeds the event store. After a failure the store is opened again, since an engine that has
// failed inside refuses everything from then on.
import { readChanges } from '../analytics/change-batch.ts';
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
    begun: async () => (await store.get()).begun?.(),
    async append(events, upTo) {
      const changes = events.flatMap((event) => (event.kind === 'change' ? [event.change] : []));
      const batch = { clicks: clicksOf(events), ...readChanges(changes) };
      try {
        await (await store.get()).append(batch, upTo);
      } catch (error) {
        await store.reset();
        throw error;
      }
    },
  };
}
