// Finds the click that a conversion is credited to, wherever it is kept, and the link behind it. Clicks and links
// that cannot get credit are refused here, before anything is recorded.
import type { ClickRecord } from '../analytics/click-record.ts';
import type { Customer } from '../customers/customer.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Link } from '../links/link.ts';
import type { Workspace } from '../workspaces/workspace.ts';
import { type AttributionRules, creditedClick, type DatedClick } from './attribution.ts';
import type { ConversionStore } from './conversion.store.ts';

export interface ClickCreditParts {
  readonly store: Pick<ConversionStore, 'findLeadClick' | 'findOwnClick' | 'findIndexedClick'>;
  /** A click that was recorded here, also one of a moment ago. */
  readonly findRecordedClick: (id: string) => Promise<ClickRecord | undefined>;
  readonly findLink: (id: string) => Promise<Link | undefined>;
  readonly workspaces: { get(id: string): Promise<Pick<Workspace, 'attribution' | 'attributionDays'>> };
  readonly clock: Clock;
}

export function createClickCredit(parts: ClickCreditParts) {
  const { store, findRecordedClick, findLink, workspaces, clock } = parts;

  /** The leads of a customer are asked first: they often come by the same click. */
  async function findClick(
    workspaceId: string,
    id: string,
    customer?: Customer,
  ): Promise<ClickRecord | undefined> {
    const own = customer && (await store.findOwnClick(customer.id, id));
    const click = own ?? (await store.findIndexedClick(id)) ?? (await findRecordedClick(id));
    return click?.workspaceId === workspaceId ? click : undefined;
  }

  async function rulesOf(workspaceId: string): Promise<AttributionRules> {
    const { attribution, attributionDays } = await workspaces.get(workspaceId);
    return { model: attribution, days: attributionDays };
  }

  /** `last`: the click at hand. Undefined when no click may get the credit. */
  async function credited(
    rules: AttributionRules,
    customer: Customer | undefined,
    last: ClickRecord | undefined,
  ): Promise<ClickRecord | undefined> {
    const [first, atMs] = [firstClick(customer), clock.now()];
    const chosen = creditedClick<DatedClick>(rules, { first, last }, atMs);
    if (!customer || !chosen || chosen.id === last?.id) return chosen && last;
    const own = await findClick(customer.workspaceId, chosen.id, customer);
    // Of a customer that was brought along the click itself may be unknown.
    return own ?? creditedClick(rules, { first: undefined, last }, atMs);
  }

  return {
    findClick,

    /** `clickId` empty: only the click that brought the customer can get the credit. */
    async creditLead(
      workspaceId: string,
      clickId: string,
      customer: Customer | undefined,
    ): Promise<ClickRecord> {
      const last = clickId === '' ? undefined : await findClick(workspaceId, clickId, customer);
      if (clickId !== '' && !last) throw unknownClick(clickId);
      const rules = await rulesOf(workspaceId);
      const click = await credited(rules, customer, last);
      if (!click) throw noCredit(rules);
      return click;
    },

    /** Undefined when every click of the customer is too old to get credit. */
    async creditSale(customer: Customer, leadEventName: string | null): Promise<ClickRecord | undefined> {
      const last = await store.findLeadClick(customer.id, leadEventName);
      if (!last) {
        const which = leadEventName === null ? 'no lead' : 'no lead of that name (leadEventName)';
        throw new AppError('not_found', `This customer has ${which}; track one first.`);
      }
      return credited(await rulesOf(customer.workspaceId), customer, last);
    },

    async getLink(workspaceId: string, linkId: string): Promise<Link> {
      const link = await findLink(linkId);
      if (link?.workspaceId !== workspaceId) {
        throw linkGone();
      }
      if (link.disabledAt !== null) throw new AppError('not_found', 'The link of this click is disabled.');
      return link;
    },
  };
}

export type ClickCredit = ReturnType<typeof createClickCredit>;

function unknownClick(id: string): AppError {
  return new AppError('not_found', `There is no click with the id ${id.slice(0, 50)}.`);
}

function noCredit({ days }: AttributionRules): AppError {
  const text =
    days === null
      ? 'The click that brought this customer is unknown here.'
      : `The click is older than the ${days} days after which clicks get no credit here.`;
  return new AppError('not_found', text);
}

export function linkGone(): AppError {
  return new AppError('not_found', 'The link of this click no longer exists.');
}

function firstClick(customer: Customer | undefined): DatedClick | undefined {
  if (!customer?.clickId) return undefined;
  return { id: customer.clickId, timeMs: customer.clickedAt ?? customer.createdAt };
}
