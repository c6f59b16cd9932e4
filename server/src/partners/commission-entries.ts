// Leads and sales that the owner of a program enters for a partner. They are recorded as conversions, which earn what
// the rewards of the partner say, or nothing.
import type { Customer, CustomerDraft } from '../customers/customer.ts';
import type { Customers } from '../customers/customers.ts';
import type { Database } from '../db/database.ts';
import type { Actor } from '../http/operation.ts';
import { AppError } from '../kernel/errors.ts';
import type { Link } from '../links/link.ts';
import type { LinksOfPartners } from '../links/links-of-partners.ts';
import type { CommissionStore } from './commission.store.ts';
import type { PaymentProcessor } from './commission-entry.ts';
import type { Enrolments } from './enrolments.ts';
import type { Enrolment } from './partner.ts';
import type { PayoutAggregation } from './payout-aggregation.ts';
import type { Program } from './program.ts';
import type { Programs } from './programs.ts';

type Metadata = Readonly<Record<string, unknown>>;

export interface EnteredLead {
  readonly eventName: string;
  readonly metadata: Metadata | null;
}

export interface EnteredSale extends EnteredLead {
  /** In the smallest unit of the currency. */
  readonly amount: number;
  readonly currency: string;
  readonly paymentProcessor: PaymentProcessor;
  readonly invoiceId: string | null;
}

/** Records a click, a lead and perhaps a sale; in the caller's transaction, if there is one. */
export type RecordConversion = (conversion: {
  readonly workspaceId: string;
  readonly link: Link;
  readonly customer: Customer | CustomerDraft;
  readonly atMs: number;
  readonly lead: EnteredLead;
  readonly sale?: EnteredSale | undefined;
}) => Promise<void>;

export interface CommissionEntry {
  readonly partnerId: string;
  readonly linkId?: string | undefined;
  readonly customerId?: string | undefined;
  readonly customer?: CustomerDraft | undefined;
  readonly atMs: number;
  readonly lead: EnteredLead;
  readonly sale?: EnteredSale | undefined;
}

/** Sales of the customer that a payment provider knows of, instead of one that is given. */
export type ImportEntry = Pick<CommissionEntry, 'partnerId' | 'linkId' | 'customerId' | 'customer'>;

/** Whose sales are to be fetched, and which link gets the credit. */
export interface ImportTarget {
  readonly workspaceId: string;
  readonly partnerId: string;
  readonly linkId: string;
  readonly customerId: string;
}

/** Has the invoices of a customer fetched later; in the caller's transaction. Refused where that is not possible. */
export type StartImport = (target: ImportTarget) => Promise<void>;

export interface CommissionEntriesParts {
  readonly db: Database;
  readonly store: CommissionStore;
  readonly programs: Programs;
  readonly enrolments: Enrolments;
  readonly links: Pick<LinksOfPartners, 'findBest'>;
  readonly customers: Pick<
    Customers,
    'findByIds' | 'findByExternalId' | 'findOrCreate' | 'get' | 'update' | 'storeAvatar'
  >;
  readonly aggregation: Pick<PayoutAggregation, 'gatherSoon'>;
  readonly recordConversion: RecordConversion;
  readonly startImport: StartImport;
}

/** The lead that comes before the first sale of a customer. */
export const IMPORTED_LEAD = 'Sign up';

export function createCommissionEntries(parts: CommissionEntriesParts) {
  const { db, store, programs, enrolments, links, customers, aggregation, recordConversion } = parts;

  async function getLink(partner: { programId: string; partnerId: string }, linkId: string | undefined) {
    const link = await links.findBest(partner, linkId);
    if (link) return link;
    if (linkId !== undefined) throw new AppError('not_found', 'custom: linkId: the partner has no such link');
    throw new AppError('bad_request', 'custom: partnerId: the partner has no links');
  }

  /** One that is there is brought up to date with what is given. */
  async function findCustomer(workspaceId: string, entry: ImportEntry): Promise<Customer | CustomerDraft> {
    const { customerId, customer: draft } = entry;
    if (customerId !== undefined) {
      return customers.get(workspaceId, customerId).catch((error) => {
        const isForeign = error instanceof AppError && error.code === 'forbidden';
        throw isForeign
          ? new AppError('bad_request', 'custom: customerId: the customer belongs to another workspace')
          : error;
      });
    }
    const given = draft as CustomerDraft;
    const known = await customers.findByExternalId(workspaceId, given.externalId);
    return known ? customers.update(workspaceId, known.id, given) : given;
  }

  async function withStoredAvatar<E extends ImportEntry>(entry: E): Promise<E> {
    const { customer } = entry;
    if (!customer?.avatar) return entry;
    const avatar = await customers.storeAvatar(customer.avatar, 'customer.avatar');
    return { ...entry, customer: { ...customer, avatar } };
  }

  /** In a transaction of its own, or that of the caller. */
  function record(workspaceId: string, program: Program, entry: CommissionEntry): Promise<Enrolment> {
    return db.write(async () => {
      const enrolment = await enrolments.get(program, entry);
      const link = await getLink(enrolment, entry.linkId);
      const { atMs, lead, sale } = entry;
      if (sale?.invoiceId && (await store.hasInvoice(program.id, sale.invoiceId))) throw invoiceTaken();
      const customer = await findCustomer(workspaceId, entry);
      await recordConversion({ workspaceId, link, customer, atMs, lead, sale });
      return enrolment;
    });
  }

  return {
    /** What the partner is due is gathered at once. */
    async enter(actor: Actor, given: CommissionEntry): Promise<void> {
      const { workspaceId } = actor;
      const program = await programs.getOfWorkspace(workspaceId);
      const entry = await withStoredAvatar(given);
      await aggregation.gatherSoon(await record(workspaceId, program, entry));
    },

    /** The customer is there at once, its sales follow. */
    async importSales({ workspaceId }: Actor, given: ImportEntry): Promise<void> {
      const program = await programs.getOfWorkspace(workspaceId);
      const entry = await withStoredAvatar(given);
      await db.write(async () => {
        const enrolment = await enrolments.get(program, entry);
        const { id: linkId, programId, partnerId } = await getLink(enrolment, entry.linkId);
        const found = await findCustomer(workspaceId, entry);
        const from = { linkId, programId, partnerId };
        const customer =
          'id' in found ? found : (await customers.findOrCreate(workspaceId, { ...found, ...from })).customer;
        if (customer.stripeCustomerId === null) throw noStripeId(entry);
        await parts.startImport({
          workspaceId,
          partnerId: enrolment.partnerId,
          linkId,
          customerId: customer.id,
        });
      });
    },

    /** A sale that was fetched; false when there is one with its invoice already. Gathering is left to the caller. */
    async enterImported(
      { workspaceId, ...target }: ImportTarget,
      { atMs, ...sale }: EnteredSale & { readonly atMs: number },
    ): Promise<boolean> {
      const program = await programs.getOfWorkspace(workspaceId);
      const lead = { eventName: IMPORTED_LEAD, metadata: null };
      try {
        await record(workspaceId, program, { ...target, atMs, lead, sale });
        return true;
      } catch (error) {
        if (error instanceof AppError && error.code === 'conflict') return false;
        throw error;
      }
    },

    async gather({ workspaceId, partnerId }: ImportTarget): Promise<void> {
      const { id: programId } = await programs.getOfWorkspace(workspaceId);
      await aggregation.gatherSoon({ programId, partnerId });
    },
  };
}

export type CommissionEntries = ReturnType<typeof createCommissionEntries>;

function invoiceTaken(): AppError {
  return new AppError('conflict', 'custom: invoiceId: there is a commission with this invoice already');
}

function noStripeId({ customerId }: ImportEntry): AppError {
  const text =
    customerId === undefined
      ? 'customer.stripeCustomerId: is required to find the invoices of the customer'
      : 'customerId: the customer has no stripeCustomerId to find its invoices by';
  return new AppError('bad_request', `custom: ${text}`);
}
