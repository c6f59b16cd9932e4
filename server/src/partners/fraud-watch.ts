// Watches new commissions for fraud, on the plans that have it: what a rule finds is kept for a person to look at,
// and the commission is held until then.
import type { Customer } from '../customers/customer.ts';
import { planIncludes } from '../http/operation.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Ids } from '../kernel/ids.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import type { CommissionStore, Earner } from './commission.store.ts';
import type { Commission } from './commission.ts';
import { isActive } from './enrolment-states.ts';
import type { Enrolments } from './enrolments.ts';
import type { FraudStore, StoredRule } from './fraud.store.ts';
import {
  canonicalEmail,
  type Finding,
  FRAUD_TYPES,
  type FraudRule,
  type FraudType,
  findFraud,
  ownDomain,
  PARTNER_RULES,
} from './fraud-rules.ts';
import type { PartnerStore } from './partner.store.ts';
import type { Enrolment } from './partner.ts';

export interface FraudWatchParts {
  readonly store: FraudStore;
  readonly commissions: CommissionStore;
  readonly enrolments: Enrolments;
  readonly people: PartnerStore;
  readonly workspaces: Pick<Workspaces, 'get'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

export interface Judgement {
  /** The commission is not to be paid before somebody has looked. */
  readonly holds: boolean;
  readonly findings: readonly Finding[];
}

interface Watched {
  readonly customer?: Customer;
  readonly click?: { readonly url: string; readonly referer: string };
}

const NOTHING: Judgement = { holds: false, findings: [] };
const CUSTOMERS_COMPARED = 100;
const PROGRAMS_TOLD = 100;

/** All rules: those that the program says nothing of are on, as they come. */
export function rulesOf(stored: readonly StoredRule[]): FraudRule[] {
  const known = new Map(stored.map((rule) => [rule.type, rule]));
  return FRAUD_TYPES.map((type) => {
    const rule = known.get(type);
    return { type, enabled: (rule?.disabledAt ?? null) === null, config: rule?.config ?? {} };
  });
}

export function createFraudWatch(parts: FraudWatchParts) {
  const { store, commissions, enrolments, people, workspaces, clock, ids } = parts;
  const listeners: ((earner: Earner) => Promise<void>)[] = [];

  async function isWatched(enrolment: Enrolment): Promise<boolean> {
    if (!isActive(enrolment.status) || enrolment.riskMonitoringDisabledAt !== null) return false;
    return planIncludes((await workspaces.get(enrolment.workspaceId)).plan, 'advanced');
  }

  async function look(enrolment: Enrolment, { customer, click }: Watched): Promise<Finding[]> {
    if (!customer) return [];
    const partner = await people.find(enrolment.partnerId);
    const emails = customer.email
      ? await store.findRecentEmails(enrolment, customer.id, CUSTOMERS_COMPARED)
      : [];
    return findFraud(rulesOf(await store.findRules(enrolment.programId)), {
      customerEmail: customer.email,
      partnerEmail: partner?.email ?? null,
      customerDomains: new Set(emails.flatMap((email) => ownDomain(email) ?? [])),
      url: click?.url ?? '',
      referer: click?.referer ?? '',
    });
  }

  async function addEvent(
    whose: Earner & { readonly workspaceId: string },
    { type, metadata }: Finding,
    about: {
      customerId: string | null;
      linkId: string | null;
      commissionId: string | null;
      eventId: string | null;
    },
  ): Promise<void> {
    const nowMs = clock.now();
    const { programId, partnerId, workspaceId } = whose;
    const made = { programId, workspaceId, partnerId, type, createdAt: nowMs, updatedAt: nowMs };
    const fraudGroupId = await store.addToGroup({
      ...made,
      id: ids('frg_'),
      status: 'pending',
      eventCount: 1,
      lastEventAt: nowMs,
      resolvedAt: null,
      resolutionReason: null,
      userId: null,
    });
    await store.insertEvent({ ...made, ...about, id: ids('fre_'), fraudGroupId, metadata });
  }

  async function isRuleOn(programId: string, type: FraudType): Promise<boolean> {
    return rulesOf(await store.findRules(programId)).some((rule) => rule.type === type && rule.enabled);
  }

  /** Something is wrong with the partner as a whole. */
  async function flag(
    whose: Earner & { readonly workspaceId: string },
    type: (typeof PARTNER_RULES)[number],
    metadata: Finding['metadata'],
  ): Promise<void> {
    if (!(await isRuleOn(whose.programId, type))) return;
    const nothing = { customerId: null, linkId: null, commissionId: null, eventId: null };
    await addEvent(whose, { type, metadata }, nothing);
  }

  async function releaseOf(earner: Earner): Promise<void> {
    const worth = await commissions.releaseHeld(earner, PARTNER_RULES, clock.now());
    await enrolments.addTotals(earner.programId, earner.partnerId, { commissions: worth });
  }

  return {
    flag,

    /** Whoever joins under an address that reaches a partner of the program is likely to be that partner. */
    async checkDuplicate(enrolment: Enrolment): Promise<void> {
      const person = await people.find(enrolment.partnerId);
      const same = person?.email ? canonicalEmail(person.email) : '';
      const other = same === '' ? undefined : await people.findByEmail(same);
      if (!other || other.id === enrolment.partnerId) return;
      const enrolled = await enrolments.findEnrolled(enrolment.programId, [other.id]);
      if (enrolled.has(other.id)) await flag(enrolment, 'partnerDuplicateAccount', { partnerId: other.id });
    },

    /** What is to become of a commission that is about to be made. */
    async judge(enrolment: Enrolment, watched: Watched = {}): Promise<Judgement> {
      if (!(await isWatched(enrolment))) return NOTHING;
      const findings = await look(enrolment, watched);
      const open = await store.findPending(enrolment);
      const partnerLevel = open.some(({ type }) => (PARTNER_RULES as readonly string[]).includes(type));
      return { holds: findings.length > 0 || partnerLevel, findings };
    },

    async record(enrolment: Enrolment, { findings }: Judgement, commission: Commission): Promise<void> {
      const { id: commissionId, customerId, linkId, eventId } = commission;
      for (const finding of findings) {
        await addEvent(enrolment, finding, { customerId, linkId, commissionId, eventId });
      }
    },

    findElsewhere: (enrolment: Enrolment) => store.findElsewhere(enrolment, PROGRAMS_TOLD),

    /** Nothing about the partner is open any more. */
    async resolveAll(enrolment: Enrolment, reason: string): Promise<void> {
      const nowMs = clock.now();
      for (const { id } of await store.findPending(enrolment)) {
        const closed = {
          status: 'resolved',
          resolvedAt: nowMs,
          resolutionReason: reason,
          updatedAt: nowMs,
        } as const;
        await store.closeGroup(id, closed);
      }
    },

    /** For what follows from a release, in its transaction; call it before anything runs. */
    onReleased: (listener: (earner: Earner) => Promise<void>): void => void listeners.push(listener),

    releaseShares: releaseOf,

    /** What was held for nothing that is still open goes on its way, and then what was held for that. */
    async release(earner: Earner): Promise<void> {
      await releaseOf(earner);
      for (const listener of listeners) await listener(earner);
    },
  };
}

export type FraudWatch = ReturnType<typeof createFraudWatch>;
