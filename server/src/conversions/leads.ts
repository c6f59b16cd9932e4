// Leads: a visitor signs up, asks for a demo, does what the caller calls a lead. One of a name per customer, for
// ever; everything that follows from a lead is in its transaction.
import type { ClickRecord } from '../analytics/click-record.ts';
import type { LeadRecord, LeadsCreated } from '../analytics/conversion-record.ts';
import type { Customer } from '../customers/customer.ts';
import { AppError } from '../kernel/errors.ts';
import type { Link } from '../links/link.ts';
import { type LeadAnswer, type LeadRequest, leadAnswer, leadSlot, type Metadata } from './conversion.ts';
import { type Credited, eventRecord, type Outcome, type Recording } from './recording.ts';
import { destinationOf } from './test-variant.ts';
import { leadData } from './webhook-data.ts';

/** What is recorded, once everything is found. */
export interface FoundLead {
  readonly workspaceId: string;
  readonly click: ClickRecord;
  readonly link: Link;
  readonly customer: Customer;
  readonly eventName: string;
  readonly quantity: number;
  readonly metadata: Metadata | null;
  readonly isDirectSale: boolean;
  /** Of what was entered by hand: when it happened, and where it came from. */
  readonly atMs?: number;
  readonly source?: string;
}

export function createLeads(recording: Recording) {
  const { once, customers, credit, madeClicks, write, clock, eventIds, store, earnings } = recording;

  async function record(
    workspaceId: string,
    request: LeadRequest,
    { click, isMade }: Credited,
    known: boolean,
  ): Promise<Outcome<LeadAnswer>> {
    const link = await credit.getLink(workspaceId, click.linkId);
    const customer = await recording.findOrCreateCustomer(request, { click, link, known });
    const answer = leadAnswer(click, link, customer);
    if (request.mode === 'deferred') return { customer, eventId: '', answer };
    const { eventName, eventQuantity: quantity, metadata } = request;
    const found = { workspaceId, click, link, customer, eventName, quantity, metadata, isDirectSale: false };
    const eventId = await insert(found);
    if (isMade) await madeClicks.add(click);
    return { customer, eventId, answer };
  }

  /** Returns the id of the first event. */
  async function insert(found: FoundLead): Promise<string> {
    const { workspaceId, click, customer, eventName, quantity, metadata, isDirectSale, source } = found;
    const ids = Array.from({ length: quantity }, eventIds);
    const eventId = ids[0] as string;
    const link = await recording.countOnLink(found.link, { leads: quantity });
    const atMs = found.atMs ?? clock.now();
    const facts = { workspaceId, link, customer, click, eventId, eventName, metadata, atMs, source };
    const lead: LeadRecord = eventRecord(facts);
    const leads = ids.map((id) => ({ ...lead, id }));
    await store.insertLeads(leads, destinationOf(click.url, link.testVariants));
    await earnings.lead({ ...facts, quantity, isDirectSale });
    const partner = isDirectSale ? undefined : await earnings.findPartner(link);
    const payload: LeadsCreated = { leads };
    await recording.tell(workspaceId, 'lead.created', payload, leadData(facts, partner, recording.publicUrl));
    await recording.countUsage(workspaceId, quantity);
    return eventId;
  }

  return {
    async track(workspaceId: string, request: LeadRequest): Promise<LeadAnswer> {
      const { clickId, customerExternalId, eventName, mode, otherwise } = request;
      const customer = await customers.findByExternalId(workspaceId, customerExternalId);
      const isClickless = clickId === '' && !customer?.clickId;
      if (isClickless && !otherwise) {
        throw new AppError(
          'bad_request',
          'invalid_type: clickId: is required, since no click of this customer is known',
        );
      }
      const slot = leadSlot(workspaceId, customerExternalId, eventName);
      const isOnce = mode !== 'deferred';
      const earlier = isOnce ? await once.find<LeadAnswer>(slot) : undefined;
      if (earlier) return earlier;
      const credited = await recording.creditedClick(workspaceId, otherwise, async () => {
        if (!isClickless) return credit.creditLead(workspaceId, clickId, customer);
        return customer && store.findLeadClick(customer.id, null);
      });
      const introduced = await recording.introduce(request, customer);
      const work = () => record(workspaceId, introduced, credited as Credited, customer !== undefined);
      return write(async () => (isOnce ? once.run(slot, work) : (await work()).answer));
    },

    /** A lead that was entered by hand; there may be any number of a name. */
    async enter(found: FoundLead): Promise<void> {
      await insert(found);
    },

    /** The lead of a customer that a sale made; not where the customer has a lead of that name. */
    async insertOfSale(found: Omit<FoundLead, 'quantity' | 'isDirectSale'>): Promise<void> {
      const { workspaceId, click, link, customer, eventName } = found;
      await once.run(leadSlot(workspaceId, customer.externalId, eventName), async () => ({
        customer,
        eventId: await insert({ ...found, quantity: 1, isDirectSale: true }),
        answer: leadAnswer(click, link, customer),
      }));
    },
  };
}

export type Leads = ReturnType<typeof createLeads>;
