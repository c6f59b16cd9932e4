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
import type { PayoutAggregation } from './payout-aggregation.ts';
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

export interface CommissionEntriesParts {
  readonly db: Database;
  readonly store: CommissionStore;
  readonly programs: Programs;
  readonly enrolments: Enrolments;
  readonly links: Pick<LinksOfPartners, 'findBest'>;
  readonly customers: Pick<Customers, 'findByIds' | 'findByExternalId' | 'get' | 'update' | 'storeAvatar'>;
  readonly aggregation: Pick<PayoutAggregation, 'gather'>;
  readonly recordConversion: RecordConversion;
}

export function createCommissionEntries(parts: CommissionEntriesParts) {
  const { db, store, programs, enrolments, links, customers, aggregation, recordConversion } = parts;

  async function getLink(partner: { programId: string; partnerId: string }, linkId: string | undefined) {
    const link = await links.findBest(partner, linkId);
    if (link) return link;
    if (linkId !== undefined) throw new AppError('not_found', 'custom: linkId: the partner has no such link');
    throw new AppError('bad_request', 'custom: partnerId: the partner has no links');
  }

  /** One that is there is brought up to date with what is given. */
  async function findCustomer(
    workspaceId: string,
    entry: CommissionEntry,
  ): Promise<Customer | CustomerDraft> {
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

  async function withStoredAvatar(entry: CommissionEntry): Promise<CommissionEntry> {
    const { customer } = entry;
    if (!customer?.avatar) return entry;
    const avatar = await customers.storeAvatar(customer.avatar, 'customer.avatar');
    return { ...entry, customer: { ...customer, avatar } };
  }

  return {
    /** What the partner is due is gathered at once. */
    async enter(actor: Actor, given: CommissionEntry): Promise<void> {
      const { workspaceId } = actor;
      const program = await programs.getOfWorkspace(workspaceId);
      const entry = await withStoredAvatar(given);
      const { programId, partnerId } = await db.write(async () => {
        const enrolment = await enrolments.get(program, entry);
        const link = await getLink(enrolment, entry.linkId);
        const { atMs, lead, sale } = entry;
        if (sale?.invoiceId && (await store.hasInvoice(program.id, sale.invoiceId))) throw invoiceTaken();
        const customer = await findCustomer(workspaceId, entry);
        await recordConversion({ workspaceId, link, customer, atMs, lead, sale });
        return enrolment;
      });
      await aggregation.gather({ programId, partnerId });
    },
  };
}

export type CommissionEntries = ReturnType<typeof createCommissionEntries>;

function invoiceTaken(): AppError {
  return new AppError('conflict', 'custom: invoiceId: there is a commission with this invoice already');
}
