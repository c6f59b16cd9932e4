// Asks Stripe, with the key of a workspace. The version of Stripe's API is fixed, so that answers have the form that is
// read here whatever the account is set to. A failure is a value that says whether trying again may help; no key is
// ever part of it.
import { z } from 'zod';
import type { FetchResult, GuardedFetch } from '../kernel/guarded-fetch.ts';
import { codesOfInvoice, type ListedInvoice, readListedInvoice, type UsedCodes } from './stripe-events.ts';

const STRIPE_URL = 'https://api.stripe.com';
const VERSION = '2024-06-20';
const TIMEOUT_MS = 20_000;
const MAX_BYTES = 16 * 1024 * 1024;
const INVOICES_PER_PAGE = 50;
/** The newest of a customer; one a month is more than eighty years. */
const MAX_INVOICES = 1_000;

export type StripeAnswer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly mayComeRight: boolean; readonly message: string };

export interface StripeClientParts {
  readonly fetch: GuardedFetch;
  /** For tests; never a user's. */
  readonly baseUrl?: string | undefined;
}

const page = z.object({
  data: z.array(z.looseObject({ id: z.string().min(1) })),
  has_more: z.boolean(),
});

/** A page of invoices, and the id after which the next begins; undefined where there is none. */
function readPage(body: unknown): { invoices: ListedInvoice[]; next: string | undefined } {
  const { data, has_more } = page.parse(body);
  const invoices = data.flatMap((each) => readListedInvoice(each) ?? []);
  return { invoices, next: has_more ? data.at(-1)?.id : undefined };
}

export function createStripeClient({ fetch, baseUrl = STRIPE_URL }: StripeClientParts) {
  async function get<T>(
    key: string,
    path: string,
    query: [string, string][],
    read: (body: unknown) => T,
  ): Promise<StripeAnswer<T>> {
    const reply = await fetch(`${baseUrl}/v1/${path}?${new URLSearchParams(query)}`, {
      headers: { Authorization: `Bearer ${key}`, 'Stripe-Version': VERSION },
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    });
    if (!reply.ok || reply.status !== 200) return failure(reply);
    try {
      return { ok: true, value: read(JSON.parse(reply.body.toString())) };
    } catch {
      return { ok: false, mayComeRight: false, message: 'The answer of Stripe cannot be read.' };
    }
  }

  return {
    /** What a customer has paid, the oldest first. */
    async listPaidInvoices(key: string, stripeCustomerId: string): Promise<StripeAnswer<ListedInvoice[]>> {
      const invoices: ListedInvoice[] = [];
      let after: string | undefined;
      for (let pages = 0; pages < MAX_INVOICES / INVOICES_PER_PAGE; pages++) {
        const query: [string, string][] = [
          ['customer', stripeCustomerId],
          ['status', 'paid'],
          ['limit', String(INVOICES_PER_PAGE)],
          ['expand[]', 'data.charge'],
        ];
        if (after !== undefined) query.push(['starting_after', after]);
        const answer = await get(key, 'invoices', query, readPage);
        if (!answer.ok) return answer;
        invoices.push(...answer.value.invoices);
        after = answer.value.next;
        if (after === undefined) break;
      }
      return { ok: true, value: invoices.sort((a, b) => a.paidAtMs - b.paidAtMs) };
    },

    /** The text of a promotion code. */
    getPromotionCode: (key: string, id: string): Promise<StripeAnswer<string>> =>
      get(
        key,
        `promotion_codes/${encodeURIComponent(id)}`,
        [],
        (body) => z.object({ code: z.string() }).parse(body).code,
      ),

    getCodesOfInvoice: (key: string, invoiceId: string): Promise<StripeAnswer<UsedCodes>> =>
      get(
        key,
        `invoices/${encodeURIComponent(invoiceId)}`,
        [['expand[]', 'discounts.promotion_code']],
        codesOfInvoice,
      ),
  };
}

export type StripeClient = ReturnType<typeof createStripeClient>;

function failure(reply: FetchResult): StripeAnswer<never> {
  if (!reply.ok) {
    const message = `Stripe cannot be reached: ${reply.message}`;
    return { ok: false, mayComeRight: reply.reason !== 'too_large', message };
  }
  const { status } = reply;
  if (status === 401) return refused('Stripe does not know the key; set another one.');
  if (status === 403)
    return refused(
      'The key lacks a right in Stripe; it needs to read invoices, charges and promotion codes.',
    );
  if (status === 404) return refused('Stripe does not have what was asked for.');
  return { ok: false, mayComeRight: status === 429 || status >= 500, message: `Stripe answered ${status}.` };
}

function refused(message: string): StripeAnswer<never> {
  return { ok: false, mayComeRight: false, message };
}
