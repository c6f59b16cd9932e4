// What others learn of a change of links: one event per link, in the transaction of the change.
import type { Database } from '../db/database.ts';
import { appendOutbox } from '../db/outbox.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Link } from './link.ts';
import { presentLink } from './link-wire.ts';

export type LinkEvent = 'link.created' | 'link.updated' | 'link.deleted';
/** `before`: where the links were, by id, when that may have changed. */
export type RecordLinks = (
  type: LinkEvent,
  links: readonly Link[],
  before?: ReadonlyMap<string, Pick<Link, 'domain' | 'key'>>,
) => Promise<void>;

export interface RecordLinksParts {
  readonly db: Database;
  readonly clock: Clock;
  /** Where the public reaches the service. */
  readonly publicUrl: string;
}

export function createRecordLinks({ db, clock, publicUrl }: RecordLinksParts): RecordLinks {
  return async (type, links, before) => {
    const events = links.map((link) => ({
      workspaceId: link.workspaceId,
      type,
      payload: presentLink(link, publicUrl),
      previous: before?.get(link.id),
    }));
    await appendOutbox(db.query, events, clock.now());
  };
}
