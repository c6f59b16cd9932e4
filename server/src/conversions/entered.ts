// Conversions that somebody enters by hand, at a time of their own: a click, a lead and perhaps a sale, recorded as
// those that were tracked are, so that counters, statistics and earnings agree.
import type { ClickRecord } from '../analytics/click-record.ts';
import type { PaymentProcessor } from '../analytics/conversion-record.ts';
import type { Customer, CustomerDraft } from '../customers/customer.ts';
import type { Link } from '../links/link.ts';
import type { Metadata } from './conversion.ts';
import type { Leads } from './leads.ts';
import type { Recording } from './recording.ts';
import type { Sales } from './sales.ts';

export interface EnteredConversion {
  readonly workspaceId: string;
  readonly link: Link;
  /** A customer that is there, or what is known of one that may be. */
  readonly customer: Customer | CustomerDraft;
  readonly atMs: number;
  readonly lead: { readonly eventName: string; readonly metadata: Metadata | null };
  /** Absent: the lead is all. */
  readonly sale?:
    | {
        readonly amount: number;
        readonly currency: string;
        readonly eventName: string;
        readonly paymentProcessor: PaymentProcessor;
        readonly invoiceId: string | null;
        readonly metadata: Metadata | null;
      }
    | undefined;
}

const SUBMITTED = 'submitted';

export function createEnteredConversions(recording: Recording, leads: Leads, sales: Sales) {
  const { store, customers, madeClicks, write } = recording;

  /** The click of an earlier lead by this link serves again; otherwise there is a new one. */
  async function findClick({ customer, link }: EnteredConversion): Promise<ClickRecord | undefined> {
    const known = 'id' in customer ? await store.findLeadClick(customer.id, null) : undefined;
    return known?.linkId === link.id ? known : undefined;
  }

  async function findOrCreate(entered: EnteredConversion, click: ClickRecord): Promise<Customer> {
    const { customer, workspaceId, link } = entered;
    if ('id' in customer) return customer;
    const from = { clickId: click.id, clickedAt: click.timeMs, linkId: link.id };
    const { programId, partnerId } = link;
    return (await customers.findOrCreate(workspaceId, { ...customer, ...from, programId, partnerId }))
      .customer;
  }

  async function record(entered: EnteredConversion): Promise<void> {
    const { workspaceId, link, lead, sale, atMs } = entered;
    const earlier = await findClick(entered);
    const click = earlier ?? madeClicks.make(link, atMs, entered.customer.country ?? null);
    const customer = await findOrCreate(entered, click);
    const what = { workspaceId, link, customer, click, atMs, source: SUBMITTED };
    if (!sale || !earlier) {
      await leads.enter({ ...what, ...lead, quantity: 1, isDirectSale: sale !== undefined });
    }
    if (sale) await sales.enter({ ...what, ...sale });
    if (!earlier) await madeClicks.add(click);
  }

  return (entered: EnteredConversion): Promise<void> => write(() => record(entered));
}
