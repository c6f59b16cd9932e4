// What can go wrong in the operational store, in words that do not depend on the engine. Every error that
// leaves db/ is one of these, with the engine's own error as its cause.

export type StoreFailure =
  | 'unique'
  | 'busy'
  | 'conflict'
  | 'full'
  | 'unreachable'
  | 'readonly'
  | 'damaged'
  | 'closed'
  | 'other';

export class StoreError extends Error {
  readonly failure: StoreFailure;

  constructor(failure: StoreFailure, message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'StoreError';
    this.failure = failure;
  }
}

/** The store is there, but the wait for its lock or for a connection was longer than allowed. */
export class StoreBusyError extends StoreError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super('busy', message, options);
    this.name = 'StoreBusyError';
  }
}

export function storeError(failure: StoreFailure, message: string, cause?: unknown): StoreError {
  return failure === 'busy'
    ? new StoreBusyError(message, { cause })
    : new StoreError(failure, message, { cause });
}

/** The store's part in an error, however deep it is wrapped. */
export function findStoreError(error: unknown): StoreError | undefined {
  let current = error;
  // Causes may be circular in theory; nothing real is nested this deep.
  for (let depth = 0; depth < 10 && current instanceof Error; depth++) {
    if (current instanceof StoreError) return current;
    current = current.cause;
  }
  return undefined;
}
