// Links that are created one a request, but many at once: those that come while others of the same key are being
// written go into the next transaction together. Each keeps its own outcome, as if it had come alone.
import type { Database } from '../db/database.ts';
import type { Actor } from '../http/operation.ts';
import { AppError } from '../kernel/errors.ts';
import type { LinkDraft } from './link-draft.ts';
import type { Outcome } from './link-writes.ts';

type CreateMany = (actor: Actor, drafts: readonly LinkDraft[]) => Promise<Outcome[]>;

interface Waiting {
  readonly actor: Actor;
  readonly draft: LinkDraft;
  settle(outcome: Promise<Outcome> | Outcome): void;
}

/** As many as one bulk request may hold. */
const MAX_TOGETHER = 100;

export function groupCreations(db: Pick<Database, 'inTransaction'>, createMany: CreateMany) {
  const queues = new Map<string, Waiting[]>();

  async function alone(actor: Actor, draft: LinkDraft): Promise<Outcome> {
    return (await createMany(actor, [draft]))[0] as Outcome;
  }

  async function writeGroup(group: readonly Waiting[]): Promise<void> {
    const { actor } = group[0] as Waiting;
    try {
      const outcomes = await createMany(
        actor,
        group.map(({ draft }) => draft),
      );
      for (const [index, { settle }] of group.entries()) settle(outcomes[index] as Outcome);
    } catch (error) {
      if (group.length > 1 && error instanceof AppError) return writeOneByOne(group);
      for (const { settle } of group) settle(Promise.reject(error));
    }
  }

  /** What refuses all of them together (the last of a quota) may have room for some. */
  async function writeOneByOne(group: readonly Waiting[]): Promise<void> {
    for (const { actor, draft, settle } of group) {
      const outcome = alone(actor, draft);
      settle(outcome);
      await outcome.catch(() => {});
    }
  }

  async function work(name: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) await writeGroup(queue.splice(0, MAX_TOGETHER));
    queues.delete(name);
  }

  return (actor: Actor, draft: LinkDraft): Promise<Outcome> => {
    // What already has a transaction commits with that one.
    if (db.inTransaction) return alone(actor, draft);
    const name = `${actor.tokenId} ${actor.role} ${actor.plan}`;
    const { promise, resolve: settle } = Promise.withResolvers<Outcome>();
    const queue = queues.get(name);
    if (queue) queue.push({ actor, draft, settle });
    else {
      const fresh = [{ actor, draft, settle }];
      queues.set(name, fresh);
      setImmediate(() => void work(name, fresh));
    }
    return promise;
  };
}
