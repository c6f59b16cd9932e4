// Which click gets the credit for a conversion: a pure rule over the clicks that could. What they are for a lead
// and for a sale is said where they are collected.
import type { AttributionModel } from '../workspaces/workspace.ts';

export interface AttributionRules {
  readonly model: AttributionModel;
  /** How many days after it a click still gets credit; null: for ever. */
  readonly days: number | null;
}

export interface DatedClick {
  readonly id: string;
  readonly timeMs: number;
}

/** `first`: the click that brought the customer. `last`: the one given with a lead, or that of the lead before a sale. */
export interface ClickCandidates<C extends DatedClick> {
  readonly first: C | undefined;
  readonly last: C | undefined;
}

const DAY_MS = 86_400_000;

/** The preferred one; the other when that is missing or too old; undefined when no click may get credit. */
export function creditedClick<C extends DatedClick>(
  { model, days }: AttributionRules,
  { first, last }: ClickCandidates<C>,
  atMs: number,
): C | undefined {
  const byPreference = model === 'first_click' ? [first, last] : [last, first];
  return byPreference.find((click) => click !== undefined && counts(click, days, atMs));
}

function counts({ timeMs }: DatedClick, days: number | null, atMs: number): boolean {
  return days === null || atMs - timeMs <= days * DAY_MS;
}
