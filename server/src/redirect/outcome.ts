// What visits end as; the labels of a metric.

export const OUTCOMES = [
  'redirected',
  'page',
  'not_found',
  'expired',
  'banned',
  'password',
  'inspected',
  'previewed',
  'file',
  'moved',
  'probe',
  'refused',
  'failed',
] as const;
export type VisitOutcome = (typeof OUTCOMES)[number];

export type OnVisit = (outcome: VisitOutcome) => void;
