// A visit as plain values: everything the decision looks at. What costs time to find out (system, country)
// is a function, asked only when a link makes a difference by it.

export type System = 'ios' | 'android' | 'other';

export interface Visit {
  readonly nowMs: number;
  /** The query as it was sent, in order. */
  readonly query: URLSearchParams;
  /** The path of the request as it was sent, for cookies. */
  readonly path: string;
  /** The address ended with +: the visitor wants to see where it leads. */
  readonly inspect: boolean;
  readonly bot: boolean;
  /** The visitor asked not to be counted. */
  readonly noTrack: boolean;
  readonly cookies: ReadonlyMap<string, string>;
  readonly userAgent: string;
  readonly ip: string;
  system(): System;
  /** Two letters, or undefined when unknown. */
  country(): string | undefined;
  /** From 0 to 1, for the choice between variants. */
  chance(): number;
}
