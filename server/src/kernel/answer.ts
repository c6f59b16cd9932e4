// An answer to a request as it is kept for repeats, and the port of whoever keeps it.

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export interface StoredAnswer {
  readonly fingerprint: string;
  readonly status: number;
  /** Null: the answer held a secret and was not stored. */
  readonly body: string | null;
}

export interface AnswerStore {
  find(scope: string, key: string): Promise<StoredAnswer | undefined>;
  /** Runs work and stores its answer in one transaction; when another request was first, returns its answer. */
  once(slot: Slot, waitMs: number, work: () => Promise<Answer>): Promise<Answer | { stored: StoredAnswer }>;
  /** Keeps a refusal, which changed nothing. */
  keep(slot: Slot, answer: Answer): Promise<void>;
}

export interface Slot {
  readonly scope: string;
  readonly key: string;
  /** Hash of method, path and body. */
  readonly fingerprint: string;
  readonly secret: boolean;
}
