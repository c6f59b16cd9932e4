// Idempotency-Key: the first request with a key runs in one transaction together with the storing of its
// answer, so that even a crash leaves either both or neither; every repeat gets that answer.
import type { Answer, AnswerStore, Slot, StoredAnswer } from '../kernel/answer.ts';
import { AppError } from '../kernel/errors.ts';

const MAX_KEY_LENGTH = 255;

export interface IdempotencyParts {
  readonly store: AnswerStore;
  /** How long a repeat waits for the first request. */
  readonly waitMs: number;
}

/** What a thrown refusal looks like as an answer; undefined when it must not be kept. */
export type Refusal = (error: unknown) => Answer | undefined;

export type RunOnce = (
  slot: Slot,
  work: () => Promise<Answer>,
  refusal: Refusal,
) => Promise<Answer & { replayed: boolean }>;

export function createIdempotency({ store, waitMs }: IdempotencyParts): RunOnce {
  const underWay = new Map<string, Promise<unknown>>();

  async function runFirst(slot: Slot, work: () => Promise<Answer>, refusal: Refusal) {
    let refused: unknown;
    const watched = () =>
      work().catch((error: unknown) => {
        refused = error;
        throw error;
      });
    try {
      const outcome = await store.once(slot, waitMs, watched);
      return 'stored' in outcome ? replay(slot, outcome.stored) : { ...outcome, replayed: false };
    } catch (error) {
      // Only what the work itself refused is its answer; a wait that was too long is not.
      const answer = error === refused ? refusal(error) : undefined;
      if (answer) await store.keep(slot, answer);
      throw error;
    }
  }

  return async (slot, work, refusal) => {
    assertKey(slot.key);
    const name = `${slot.scope} ${slot.key}`;
    if (underWay.has(name)) await waitForTurn(() => underWay.get(name), waitMs);
    // Claimed before the first await, so that of all the waiting repeats one goes on and the others see it.
    const run = store
      .find(slot.scope, slot.key)
      .then((stored) => (stored ? replay(slot, stored) : runFirst(slot, work, refusal)));
    underWay.set(name, run);
    try {
      return await run;
    } finally {
      if (underWay.get(name) === run) underWay.delete(name);
    }
  };
}

function assertKey(key: string): void {
  if (key.length === 0 || key.length > MAX_KEY_LENGTH) {
    throw new AppError(
      'unprocessable_entity',
      `custom: Idempotency-Key: must have 1 to ${MAX_KEY_LENGTH} characters`,
    );
  }
}

function replay(slot: Slot, stored: StoredAnswer): Answer & { replayed: boolean } {
  if (stored.fingerprint !== slot.fingerprint) {
    throw new AppError(
      'unprocessable_entity',
      'custom: Idempotency-Key: this key was used with another request; use a new key',
    );
  }
  if (stored.body === null) {
    throw new AppError(
      'conflict',
      'This request was answered before, with a secret that is shown only once.',
    );
  }
  return { status: stored.status, body: stored.body, replayed: true };
}

/** Returns when nobody runs; the wait is one, however many go first. */
async function waitForTurn(running: () => Promise<unknown> | undefined, waitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new AppError('conflict', 'A request with this Idempotency-Key is still running.')),
      waitMs,
    );
  });
  try {
    for (let first = running(); first; first = running()) {
      await Promise.race([first.then(ignore, ignore), tooLong]);
    }
  } finally {
    clearTimeout(timer);
  }
}

function ignore(): void {}
