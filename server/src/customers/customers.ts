// The customers of a workspace and their rules. Every change writes its outbox event in the same transaction.
// Events of deleted customers stay; all that tells who it was goes, wherever it is kept.
import { createCleanup } from '../db/cleanup.ts';
import { type Database, isUniqueViolation } from '../db/database.ts';
import { eraseAnswers } from '../db/idempotency.ts';
import { appendOutbox } from '../db/outbox.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError, invalid } from '../kernel/errors.ts';
import type { Ids } from '../kernel/ids.ts';
import { owned } from '../kernel/resource.ts';
import type { CustomerSale, CustomerStore } from './customer.store.ts';
import {
  type Customer,
  type CustomerChange,
  type CustomerDraft,
  externalIdOf,
  newCustomer,
} from './customer.ts';
import type { CustomerTraceStore } from './customer-traces.store.ts';

/** Takes what it keeps of a customer away, at most so many rows; returns how many. In the caller's transaction. */
export type ForgetCustomer = (customerId: string, limit: number) => Promise<number>;

/** Takes the addresses of visitors out of what it keeps of clicks. In the caller's transaction. */
export type ForgetClicks = (clickIds: readonly string[]) => Promise<void>;

export interface CustomersParts {
  readonly db: Database;
  readonly store: CustomerStore;
  readonly traces: CustomerTraceStore;
  readonly images: {
    savePersonalImage(dataUrl: string, field: string): Promise<string>;
    remove(url: string): Promise<void>;
  };
  /** Others who keep something of customers. */
  readonly forget: readonly ForgetCustomer[];
  readonly forgetClicks: ForgetClicks;
  readonly clock: Clock;
  readonly ids: Ids;
}

type CustomerEvent = 'customer.created' | 'customer.updated' | 'customer.deleted';

const MAX_AVATAR_LENGTH = 2_048;

export function createCustomers(parts: CustomersParts) {
  const { db, store, traces, images, clock, ids } = parts;
  const cleanup = createCleanup({ db, kind: 'customer', step: blankSome });

  async function find(workspaceId: string, ref: string): Promise<Customer | undefined> {
    const externalId = externalIdOf(ref);
    return externalId === undefined ? store.findById(ref) : store.findByExternalId(workspaceId, externalId);
  }

  async function get(workspaceId: string, ref: string): Promise<Customer> {
    return owned(await find(workspaceId, ref), workspaceId, 'customer');
  }

  /** Ids only: names and addresses of people do not go into the journal. */
  async function tell(type: CustomerEvent, { id, workspaceId }: Customer): Promise<void> {
    await appendOutbox(db.query, [{ workspaceId, type, payload: { id } }], clock.now());
  }

  /** For whoever keeps the events: the metadata of this customer's and the addresses of these clicks must go. */
  async function tellErased(workspaceId: string, customerId: string, clickIds: string[]): Promise<void> {
    const payload = { customerId, clickIds };
    await appendOutbox(db.query, [{ workspaceId, type: 'customer.erased', payload }], clock.now());
  }

  async function blankClicks(clickIds: readonly string[]): Promise<void> {
    await traces.blankClicks(clickIds);
    await parts.forgetClicks(clickIds);
  }

  async function blankSome(workspaceId: string, customerId: string, limit: number): Promise<number> {
    const { rows, clickIds } = await traces.blank(customerId, limit);
    await blankClicks(clickIds);
    if (clickIds.length > 0) await tellErased(workspaceId, customerId, clickIds);
    let done = rows;
    for (const forget of parts.forget) if (done < limit) done += await forget(customerId, limit - done);
    return done;
  }

  async function insert(workspaceId: string, draft: CustomerDraft): Promise<Customer | undefined> {
    const customer = newCustomer(draft, { id: ids('cus_'), workspaceId, nowMs: clock.now() });
    if (!(await store.insert(customer))) return undefined;
    await tell('customer.created', customer);
    return customer;
  }

  async function assertFree(
    workspaceId: string,
    { externalId, stripeCustomerId }: CustomerChange,
    id?: string,
  ) {
    const byExternalId = externalId && (await store.findByExternalId(workspaceId, externalId));
    if (byExternalId && byExternalId.id !== id) throw taken('externalId');
    const byStripeId = stripeCustomerId && (await store.findByStripeId(workspaceId, stripeCustomerId));
    if (byStripeId && byStripeId.id !== id) throw taken('stripeCustomerId');
  }

  /** An image that no row shows after all goes with the transaction that would have shown it. */
  function discard(avatar: string | null | undefined): void {
    if (avatar) db.afterCommit(() => void images.remove(avatar).catch(() => {}));
  }

  async function erase(customer: Customer): Promise<void> {
    const { id, workspaceId, clickId } = customer;
    await store.delete(id);
    const clickIds = clickId === null ? [] : [clickId];
    await blankClicks(clickIds);
    await traces.blankOutbox(workspaceId, id);
    await tellErased(workspaceId, id, clickIds);
    await cleanup.begin(workspaceId, id, clock.now());
    discard(customer.avatar);
    await tell('customer.deleted', customer);
  }

  return {
    get,

    /** By id, those of the workspace; unknown ids are left out. */
    async findByIds(workspaceId: string, wanted: readonly string[]): Promise<Map<string, Customer>> {
      const found = wanted.length === 0 ? [] : await store.findByIds(workspaceId, wanted);
      return new Map(found.map((customer) => [customer.id, customer]));
    },

    findByExternalId: (workspaceId: string, externalId: string): Promise<Customer | undefined> =>
      store.findByExternalId(workspaceId, externalId),

    findByStripeId: (workspaceId: string, stripeCustomerId: string): Promise<Customer | undefined> =>
      store.findByStripeId(workspaceId, stripeCustomerId),

    /**
     * An avatar in the form it is kept in: an address stays one, a data URL becomes a file of ours. Not inside a
     * transaction, for it may write that file.
     */
    async storeAvatar(avatar: string | null | undefined, field = 'avatar'): Promise<string | null> {
      if (!avatar) return null;
      if (avatar.startsWith('data:')) return images.savePersonalImage(avatar, field);
      const url = URL.parse(avatar);
      if (!url || !/^https?:$/.test(url.protocol) || /\p{Cc}/u.test(avatar)) {
        throw invalid(
          field,
          'must be an address such as https://example.com/face.png, or an image as a data URL',
        );
      }
      if (avatar.length > MAX_AVATAR_LENGTH)
        throw invalid(field, `must have at most ${MAX_AVATAR_LENGTH} characters`);
      return avatar;
    },

    create(workspaceId: string, draft: CustomerDraft): Promise<Customer> {
      return db.write(async () => {
        const customer = await insert(workspaceId, draft);
        if (customer) return customer;
        await assertFree(workspaceId, draft);
        throw taken('externalId');
      });
    },

    /** The customer with this external id, made when there is none; of several at once, one makes it. */
    findOrCreate(workspaceId: string, draft: CustomerDraft): Promise<{ customer: Customer; isNew: boolean }> {
      return db.write(async () => {
        const made = await insert(workspaceId, draft);
        if (made) return { customer: made, isNew: true };
        discard(draft.avatar);
        const customer = await store.findByExternalId(workspaceId, draft.externalId);
        if (customer) return { customer, isNew: false };
        throw taken('stripeCustomerId');
      });
    },

    /** Counts a sale; `sales` of the result is 1 for the first. Call it in the transaction of the sale. */
    async addSale(id: string, sale: CustomerSale): Promise<Customer> {
      const customer = await store.addSale(id, sale, clock.now());
      if (!customer) throw new AppError('not_found', 'There is no such customer.');
      return customer;
    },

    setSubscriptionCanceledAt: (id: string, atMs: number | null): Promise<void> =>
      store.setSubscriptionCanceledAt(id, atMs, clock.now()),

    /** A change that changes nothing writes nothing and tells nobody. */
    update(workspaceId: string, ref: string, change: CustomerChange): Promise<Customer> {
      return db.write(async () => {
        const before = await get(workspaceId, ref);
        const given = Object.entries(change).filter(([, value]) => value !== undefined);
        const customer: Customer = { ...before, ...Object.fromEntries(given), updatedAt: clock.now() };
        if (given.every(([name, value]) => before[name as keyof Customer] === value)) return before;
        await assertFree(workspaceId, change, before.id);
        await store.update(customer).catch(takenMeanwhile);
        if (customer.avatar !== before.avatar) discard(before.avatar);
        await tell('customer.updated', customer);
        return customer;
      });
    },

    /** The customer is gone at once; what many events hold of it takes a while. */
    async delete(workspaceId: string, ref: string): Promise<Customer> {
      const { id, externalId } = await get(workspaceId, ref);
      await eraseAnswers(db, workspaceId, [
        [JSON.stringify(id)],
        ['"customer":', `"externalId":${JSON.stringify(externalId)}`],
      ]);
      return db.write(async () => {
        const customer = await get(workspaceId, ref);
        await erase(customer);
        return customer;
      });
    },

    /** Goes on taking what is left of deleted customers out of their events; for a job. */
    cleanUp: (signal: AbortSignal): Promise<void> => cleanup.run(signal),
  };
}

export type Customers = ReturnType<typeof createCustomers>;

function taken(field: string, cause?: unknown): AppError {
  const text = `custom: ${field}: another customer of this workspace has it already`;
  return new AppError('conflict', text, { cause });
}

function takenMeanwhile(error: unknown): never {
  if (!isUniqueViolation(error)) throw error;
  throw taken('externalId or stripeCustomerId', error);
}
