// Puts together what partners earn: commissions, payouts, and what is watched for fraud. For the composition root.
import type { Users } from '../access/users.ts';
import type { Customers } from '../customers/customers.ts';
import type { Database } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Ids } from '../kernel/ids.ts';
import type { LinksOfPartners } from '../links/links-of-partners.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { type CountClicks, createClickCommissions } from './click-commissions.ts';
import type { CommissionQuestions } from './commission.api.ts';
import { createCommissionStore } from './commission.store.ts';
import { createCommissionEntries, type RecordConversion, type StartImport } from './commission-entries.ts';
import type { CommissionLedger } from './commission-ledger.ts';
import { createCommissionListStore } from './commission-list.store.ts';
import { createCommissions } from './commissions.ts';
import { createConversionEarnings } from './conversion-earnings.ts';
import { createEnrolmentStore } from './enrolment.store.ts';
import type { EnrolmentEffects } from './enrolment-effects.ts';
import type { Enrolments } from './enrolments.ts';
import { createFraudStore } from './fraud.store.ts';
import { createFraud } from './fraud.ts';
import { createFraudWatch, type FraudWatch } from './fraud-watch.ts';
import { createGroupStore } from './group.store.ts';
import { createPartnerStore } from './partner.store.ts';
import type { Enrolment } from './partner.ts';
import { createPayoutStore } from './payout.store.ts';
import { createPayoutAggregation } from './payout-aggregation.ts';
import { createPayouts, type Payouts } from './payouts.ts';
import { createProgramStore } from './program.store.ts';
import type { Programs } from './programs.ts';
import { createReferralCommissions, type ReferralCommissions } from './referral-commissions.ts';
import { createRewardStore } from './reward.store.ts';
import { createRewardReckoning } from './reward-reckoning.ts';

export interface EarningSideParts {
  readonly db: Database;
  readonly users: Users;
  readonly workspaces: Workspaces;
  readonly customers: Customers;
  readonly programs: Programs;
  readonly enrolments: Enrolments;
  readonly linksOfPartners: LinksOfPartners;
  readonly commissionLedger: CommissionLedger;
  readonly addEnrolmentEffects: (effects: EnrolmentEffects) => void;
  readonly recordConversion: RecordConversion;
  readonly startImport: StartImport;
  readonly countClicks: CountClicks;
  readonly toCents: (amount: number, currency: string) => number;
  readonly commissionQuestions: CommissionQuestions;
  readonly clock: Clock;
  readonly ids: Ids;
}

export function createEarningSide(parts: EarningSideParts) {
  const { db, linksOfPartners, commissionQuestions } = parts;
  const store = createCommissionStore(db);
  const payoutStore = createPayoutStore(db);
  const fraudStore = createFraudStore(db);
  const programStore = createProgramStore(db);
  const enrolmentStore = createEnrolmentStore(db);
  const people = createPartnerStore(db);
  const rewards = createRewardStore(db);
  const groups = createGroupStore(db);
  const shared = { ...parts, enrolmentStore, people, rewards };

  const ledger = parts.commissionLedger;
  const fraudWatch = createFraudWatch({ ...shared, store: fraudStore, commissions: store });
  ledger.holdWhen(async (enrolment) => (await fraudWatch.judge(enrolment)).holds);
  const reckoning = createRewardReckoning({ store, people });
  const earning = { ...shared, store, ledger, reckoning, programs: programStore, fraud: fraudWatch };
  const referrals = createReferralCommissions({ ...earning, payoutStore });
  ledger.onAdded(referrals.onCommission);
  ledger.onChanged(referrals.onChange);
  fraudWatch.onReleased(referrals.onReleased);
  const aggregation = createPayoutAggregation({
    ...shared,
    store: payoutStore,
    commissions: store,
    programs: programStore,
    groups,
  });
  const payouts = createPayouts({ ...shared, store: payoutStore, commissions: store });
  parts.addEnrolmentEffects(createMoneyEffects(payouts, fraudWatch, referrals));
  const lists = createCommissionListStore(db);
  return {
    /** What those who record conversions tell. */
    earnings: createConversionEarnings(earning),
    /** For the erasure of customers: a step of at most so many rows. */
    forgetCustomer: async (customerId: string, limit: number): Promise<number> => {
      const done = await store.forgetCustomer(customerId, limit);
      return done + (done < limit ? await fraudStore.forgetCustomer(customerId, limit - done) : 0);
    },
    commissions: createCommissions({ ...shared, store, lists, ledger, reckoning, aggregation }),
    commissionEntries: createCommissionEntries({ ...shared, store, links: linksOfPartners, aggregation }),
    commissionQuestions,
    clickCommissions: createClickCommissions({ ...earning, links: linksOfPartners }),
    payouts,
    payoutAggregation: aggregation,
    fraud: createFraud({ ...shared, store: fraudStore, watch: fraudWatch }),
  };
}

export type EarningSide = ReturnType<typeof createEarningSide>;

/** What a change of the partner's place in the program does to its money, in the transaction of the change. */
function createMoneyEffects(
  payouts: Payouts,
  fraud: FraudWatch,
  referrals: ReferralCommissions,
): EnrolmentEffects {
  async function endOf(enrolment: Enrolment, reason: string): Promise<void> {
    await payouts.cancelOf(enrolment);
    await referrals.onCanceled(enrolment);
    await fraud.resolveAll(enrolment, reason);
  }

  return {
    async onEnrol(enrolment) {
      await fraud.checkDuplicate(enrolment);
      await referrals.onEnrol(enrolment);
    },
    async onBan(enrolment) {
      await endOf(enrolment, 'The partner was banned.');
      for (const elsewhere of await fraud.findElsewhere(enrolment)) {
        await fraud.flag(elsewhere, 'partnerCrossProgramBan', { reason: enrolment.bannedReason ?? '' });
      }
    },
    // Nobody can be paid who is not there: what is open would stay so for ever.
    onDelete: (enrolment) => endOf(enrolment, 'The partner was removed.'),
    onFlag: (enrolment, reason) => fraud.flag(enrolment, 'partnerFraudReport', { reason }),
  };
}
