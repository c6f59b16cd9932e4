// What recording a lead and recording a sale have in common: the parts they are made of, the counters they raise,
// how they are told of, and that a thing which may happen once does.
import type { ClickRecord } from '../analytics/click-record.ts';
import type { LeadRecord } from '../analytics/conversion-record.ts';
import type { Customer, CustomerDraft } from '../customers/customer.ts';
import type { Database } from '../db/database.ts';
import type { Write } from '../db/group-writes.ts';
import { appendOutbox } from '../db/outbox.ts';
import type { ClickIds } from '../events/click-id.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Link, LinkConversions } from '../links/link.ts';
import { type ClickCredit, linkGone } from './click-credit.ts';
import type { ConversionStore } from './conversion.store.ts';
import { type ConversionSlot, customerDraft, type LinkCredit, type NamedCustomer } from './conversion.ts';
import type { ConversionFacts, Earnings } from './earnings.ts';
import type { MadeClicks } from './made-clicks.ts';

export interface ConvertingCustomers {
  findByExternalId(workspaceId: string, externalId: string): Promise<Customer | undefined>;
  /** Inside a transaction; those who make the same customer at once get the same one. */
  findOrCreate(workspaceId: string, draft: CustomerDraft): Promise<{ customer: Customer }>;
  /** The form in which a picture is kept; refuses what is none. */
  storeAvatar(avatar: string | null, field: string): Promise<string | null>;
  addSale(
    customerId: string,
    sale: { amount: number; atMs: number; programId?: string | null; partnerId?: string | null },
  ): Promise<unknown>;
}

export interface RecordingParts {
  readonly db: Database;
  readonly write: Write;
  readonly store: ConversionStore;
  readonly customers: ConvertingCustomers;
  readonly credit: ClickCredit;
  readonly madeClicks: MadeClicks;
  /** Returns the counters with what was added; undefined when the link is gone. */
  readonly addToLink: (
    linkId: string,
    added: Partial<LinkConversions>,
  ) => Promise<LinkConversions | undefined>;
  /** Counts events of a workspace towards its month. */
  readonly countUsage: (workspaceId: string, events: number) => Promise<void>;
  readonly earnings: Earnings;
  readonly eventIds: ClickIds;
  readonly clock: Clock;
  /** Where the public reaches the service. */
  readonly publicUrl: string;
}

/** What came of something that happens once. */
export interface Outcome<A> {
  readonly customer: Pick<Customer, 'id'>;
  readonly eventId: string;
  readonly answer: A;
}

/** Who gets the credit. */
export interface Credited {
  readonly click: ClickRecord;
  /** It is not stored yet. */
  readonly isMade: boolean;
}

export function createRecording(parts: RecordingParts) {
  const { db, store, customers, credit, madeClicks, addToLink, clock } = parts;

  async function findAnswer<A>(slot: ConversionSlot): Promise<A | undefined> {
    const text = await store.findAnswer(slot);
    return text === undefined ? undefined : (JSON.parse(text) as A);
  }

  return {
    ...parts,
    once: {
      find: findAnswer,

      /**
       * In a transaction: does the work unless it was done, and answers as the first time. Nobody sees the claim
       * before all of it is committed; work that fails takes the claim with it.
       */
      async run<A>(slot: ConversionSlot, work: () => Promise<Outcome<A>>): Promise<A> {
        if (!(await store.claim(slot, clock.now()))) return (await findAnswer<A>(slot)) as A;
        const { customer, eventId, answer } = await work();
        await store.keepAnswer(slot, { customerId: customer.id, eventId, answer });
        return answer;
      },
    },

    /** What the caller says of a new customer. A picture that cannot be kept is no reason to refuse a conversion. */
    async introduce<R extends NamedCustomer>(request: R, known: Customer | undefined): Promise<R> {
      const { customerAvatar: given } = request;
      if (given === null) return request;
      const kept = known ? null : await customers.storeAvatar(given, 'customerAvatar').catch(() => null);
      return { ...request, customerAvatar: kept };
    },

    /**
     * The click that gets the credit. One that was there beats a link; only where there is none a click on the link
     * is made up, which is still to be added.
     */
    async creditedClick(
      workspaceId: string,
      otherwise: LinkCredit | undefined,
      findClick: () => Promise<ClickRecord | undefined>,
    ): Promise<Credited | undefined> {
      const found = await findClick().catch((error: unknown) => {
        if (otherwise && error instanceof AppError && error.code === 'not_found') return undefined;
        throw error;
      });
      if (found) return { click: found, isMade: false };
      if (!otherwise) return undefined;
      const link = await credit.getLink(workspaceId, otherwise.linkId);
      return { click: madeClicks.make(link, clock.now(), otherwise.country), isMade: true };
    },

    /** `known`: there was one before the transaction. It is read again, for its sums may have changed. */
    async findOrCreateCustomer(
      request: NamedCustomer,
      { click, link, known }: { click: ClickRecord; link: Link; known: boolean },
    ): Promise<Customer> {
      const { workspaceId } = link;
      const found = known && (await customers.findByExternalId(workspaceId, request.customerExternalId));
      if (found) return found;
      return (await customers.findOrCreate(workspaceId, customerDraft(request, click, link))).customer;
    },

    /** The link with what was added. Whoever adds to the same link waits until the transaction ends. */
    async countOnLink(link: Link, added: Partial<LinkConversions>): Promise<Link> {
      const counters = await addToLink(link.id, added);
      if (!counters) throw linkGone();
      return { ...link, ...counters };
    },

    /** Receivers of webhooks get `data`; the journal gets the payload, which names nobody. */
    tell: (workspaceId: string, type: string, payload: object, data: object): Promise<void> =>
      appendOutbox(db.query, [{ workspaceId, type, payload, webhook: data }], clock.now()),
  };
}

export type Recording = ReturnType<typeof createRecording>;

/** A conversion as analytics stores it: all that leads and sales share. */
export function eventRecord(facts: ConversionFacts): LeadRecord {
  const { workspaceId, link, customer, click, eventId, eventName, metadata, atMs } = facts;
  return {
    id: eventId,
    timeMs: atMs,
    workspaceId,
    linkId: link.id,
    customerId: customer.id,
    eventName,
    metadata: metadata === null ? '' : JSON.stringify(metadata),
    click,
  };
}
