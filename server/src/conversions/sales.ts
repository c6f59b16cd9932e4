// Sales: credited to the click of the customer's lead, in US cents whatever they were paid in, once per invoice. A
// sale of somebody unknown who brings a click makes the customer and the lead first.
import type { ClickRecord } from '../analytics/click-record.ts';
import type { SaleRecord, SalesCreated } from '../analytics/conversion-record.ts';
import type { Customer } from '../customers/customer.ts';
import { AppError } from '../kernel/errors.ts';
import type { Link } from '../links/link.ts';
import {
  DIRECT_SALE_LEAD,
  invoiceSlot,
  nothingSold,
  type SaleAnswer,
  type SaleRequest,
  saleAnswer,
} from './conversion.ts';
import { type Currencies, USD } from './currencies.ts';
import type { Leads } from './leads.ts';
import { eventRecord, type Outcome, type Recording } from './recording.ts';
import { saleData } from './webhook-data.ts';

/** A sale that is to be recorded, and who gets the credit. */
interface Creditable {
  readonly workspaceId: string;
  readonly request: SaleRequest;
  /** In US cents. */
  readonly cents: number;
  readonly click: ClickRecord;
  readonly isDirect: boolean;
  /** The click is to be stored with the sale. */
  readonly isMade?: boolean;
  /** Of what was entered by hand: when it happened, and where it came from. */
  readonly atMs?: number;
  readonly source?: string;
}

/** A sale that was entered by hand, once everything is found. */
export interface EnteredSale
  extends Pick<
    SaleRequest,
    'amount' | 'currency' | 'eventName' | 'paymentProcessor' | 'invoiceId' | 'metadata'
  > {
  readonly workspaceId: string;
  readonly link: Link;
  readonly customer: Customer;
  readonly click: ClickRecord;
  readonly atMs: number;
  readonly source: string;
}

export function createSales(recording: Recording, leads: Leads, currencies: Currencies) {
  const { once, customers, credit, madeClicks, write, clock, eventIds, store, earnings } = recording;

  /** The buyer, with a lead before the sale. */
  async function prepare(sale: Creditable): Promise<{ link: Link; customer: Customer }> {
    const { workspaceId, request, click } = sale;
    const link = await credit.getLink(workspaceId, click.linkId);
    const customer = await recording.findOrCreateCustomer(request, { click, link, known: !sale.isDirect });
    if (sale.isDirect) {
      const eventName = request.leadEventName ?? DIRECT_SALE_LEAD;
      const { metadata } = request;
      await leads.insertOfSale({ workspaceId, click, link, customer, eventName, metadata });
    }
    return { link, customer };
  }

  async function record(sale: Creditable): Promise<Outcome<SaleAnswer>> {
    const { link, customer } = await prepare(sale);
    const answer = saleAnswer(sale.request, customer, sale.cents);
    const eventId = await insert(sale, link, customer, answer);
    if (sale.isMade) await madeClicks.add(sale.click);
    return { customer, eventId, answer };
  }

  async function insert(sale: Creditable, creditedLink: Link, customer: Customer, answer: SaleAnswer) {
    const { workspaceId, request, cents, click, source } = sale;
    const { eventName, paymentProcessor, invoiceId, metadata } = request;
    const [eventId, atMs] = [eventIds(), sale.atMs ?? clock.now()];
    const { link, isFirst } = await count(creditedLink, customer, cents);
    const facts = { workspaceId, link, customer, click, eventId, eventName, metadata, atMs, source };
    const stored: SaleRecord = {
      ...eventRecord(facts),
      amount: cents,
      currency: USD,
      paymentProcessor,
      invoiceId: invoiceId ?? '',
    };
    await store.insertSale(stored, { amount: request.amount, currency: request.currency });
    await earnings.sale({ ...facts, amount: cents, paymentProcessor, invoiceId, isFirst });
    const partner = await earnings.findPartner(link);
    const payload: SalesCreated = { sales: [stored] };
    const shown = answer.sale as NonNullable<SaleAnswer['sale']>;
    await recording.tell(
      workspaceId,
      'sale.created',
      payload,
      saleData(facts, shown, partner, recording.publicUrl),
    );
    await recording.countUsage(workspaceId, 1);
    const { programId, partnerId } = link;
    await customers.addSale(customer.id, { amount: cents, atMs, programId, partnerId });
    return eventId;
  }

  /** The first sale of a customer by a link is a conversion of the link. */
  async function count(
    link: Link,
    customer: Customer,
    cents: number,
  ): Promise<{ link: Link; isFirst: boolean }> {
    const counted = await recording.countOnLink(link, { sales: 1, saleAmount: cents });
    // After that write, so that of two first sales at once one waits and then finds the other.
    const isFirst =
      (customer.sales === 0 || customer.linkId !== link.id) && !(await store.hasSale(link.id, customer.id));
    return { link: isFirst ? await recording.countOnLink(counted, { conversions: 1 }) : counted, isFirst };
  }

  return {
    /** Refuses an invoice that is known. */
    async enter(entered: EnteredSale): Promise<void> {
      const { workspaceId, link, customer, click, atMs, source, ...what } = entered;
      const request: SaleRequest = { ...what, ...NOBODY_NEW, customerExternalId: customer.externalId };
      const cents = currencies.toCents(what.amount, what.currency);
      const sale = { workspaceId, request, cents, click, isDirect: false, atMs, source };
      const answer = saleAnswer(request, customer, cents);
      let isNew = false;
      const work = async () => {
        isNew = true;
        return { customer, eventId: await insert(sale, link, customer, answer), answer };
      };
      if (what.invoiceId === null) await work();
      else await once.run(invoiceSlot(workspaceId, what.invoiceId), work);
      if (!isNew)
        throw new AppError('conflict', 'custom: invoiceId: there is a sale with this invoice already');
    },

    async track(workspaceId: string, request: SaleRequest): Promise<SaleAnswer> {
      const { invoiceId, customerExternalId, clickId, leadEventName, amount } = request;
      const slot = invoiceId === null ? undefined : invoiceSlot(workspaceId, invoiceId);
      const earlier = slot && (await once.find<SaleAnswer>(slot));
      if (earlier) return earlier;
      const cents = currencies.toCents(amount, request.currency);
      const customer = await customers.findByExternalId(workspaceId, customerExternalId);
      const credited = await recording.creditedClick(workspaceId, request.otherwise, async () => {
        if (customer) return credit.creditSale(customer, leadEventName);
        return clickId === '' ? undefined : credit.creditLead(workspaceId, clickId, undefined);
      });
      if (!credited) return nothingSold(request);
      const introduced = await recording.introduce(request, customer);
      const isDirect = !customer || credited.isMade;
      const sale: Creditable = { workspaceId, request: introduced, cents, ...credited, isDirect };
      return write(async () => {
        if (amount === 0) {
          await prepare(sale);
          if (sale.isMade) await madeClicks.add(sale.click);
          return nothingSold(request);
        }
        return slot ? once.run(slot, () => record(sale)) : (await record(sale)).answer;
      });
    },
  };
}

export type Sales = ReturnType<typeof createSales>;

/** The customer is there already. */
const NOBODY_NEW = {
  clickId: '',
  leadEventName: null,
  customerName: null,
  customerEmail: null,
  customerAvatar: null,
} as const;
