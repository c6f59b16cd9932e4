// What else has to happen when the place of a partner in the program changes: commissions, payouts, codes and
// bounties add theirs here. Every effect runs inside the transaction of the change.
import type { Enrolment } from './partner.ts';

export interface EnrolmentEffects {
  /** Has joined: made by a caller, approved, or an invitation was accepted. */
  onEnrol?(enrolment: Enrolment): Promise<void>;
  onBan?(enrolment: Enrolment): Promise<void>;
  onUnban?(enrolment: Enrolment): Promise<void>;
  onDeactivate?(enrolment: Enrolment): Promise<void>;
  onReactivate?(enrolment: Enrolment): Promise<void>;
  /** Has come from another group; `enrolment` is as it is now. */
  onMove?(enrolment: Enrolment, before: Enrolment): Promise<void>;
  onDelete?(enrolment: Enrolment): Promise<void>;
  /** Have joined, or have another group or other tags; all of one program. */
  onRegroup?(enrolments: readonly Enrolment[]): Promise<void>;
  /** What the partner has brought or earned is another sum now. */
  onTotals?(programId: string, partnerId: string): Promise<void>;
  /** An application that was rejected looked like fraud to whoever did so. */
  onFlag?(enrolment: Enrolment, reason: string): Promise<void>;
}

/** Filled by the composition, before anything runs. */
export type EffectList = readonly EnrolmentEffects[];

type Single = Exclude<keyof EnrolmentEffects, 'onMove' | 'onFlag' | 'onRegroup' | 'onTotals'>;

export async function runEffects(effects: EffectList, event: Single, enrolment: Enrolment): Promise<void> {
  for (const effect of effects) await effect[event]?.(enrolment);
}
