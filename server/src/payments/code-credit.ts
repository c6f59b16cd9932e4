// Whose discount code a payment used. Events seldom tell the code itself; what only Stripe knows is asked there when the
// workspace has given a key, and only for payers whom nothing else has brought.
import type { LinkCredit } from '../conversions/conversion.ts';
import type { Customer } from '../customers/customer.ts';
import { AppError } from '../kernel/errors.ts';
import type { StripeAnswer, StripeClient } from './stripe-client.ts';
import { namesCode, type Payer, type UsedCodes } from './stripe-events.ts';

export interface CodeCreditParts {
  readonly stripe: Pick<StripeClient, 'getPromotionCode' | 'getCodesOfInvoice'>;
  /** The link that a code of the workspace's program belongs to; undefined when it is worth nothing. */
  readonly findLinkByCode: (workspaceId: string, code: string) => Promise<{ linkId: string } | undefined>;
}

/** A payment has few; more would be somebody's mistake. */
const MAX_ASKED = 10;
const TRY_AGAIN_SECONDS = 60;

export function createCodeCredit({ stripe, findLinkByCode }: CodeCreditParts) {
  async function findLink(workspaceId: string, texts: readonly string[]) {
    for (const text of texts.slice(0, MAX_ASKED)) {
      const link = await findLinkByCode(workspaceId, text.trim());
      if (link) return link;
    }
    return undefined;
  }

  /** What Stripe says of codes that the event does not spell out. */
  async function ask(key: string, { promotionCodeIds, invoiceId }: UsedCodes): Promise<string[]> {
    const shown = invoiceId === null ? undefined : told(await stripe.getCodesOfInvoice(key, invoiceId));
    const texts = [...(shown?.texts ?? [])];
    const ids = [...promotionCodeIds, ...(shown?.promotionCodeIds ?? [])];
    for (const id of ids.slice(0, MAX_ASKED)) {
      const text = told(await stripe.getPromotionCode(key, id));
      if (text !== undefined) texts.push(text);
    }
    return texts;
  }

  return async (
    workspaceId: string,
    { codes, country }: Payer,
    customer: Customer | undefined,
    key: string | null,
  ): Promise<LinkCredit | undefined> => {
    if (!namesCode(codes) || isAttributed(customer)) return undefined;
    const link =
      (await findLink(workspaceId, codes.texts)) ??
      (key === null ? undefined : await findLink(workspaceId, await ask(key, codes)));
    return link && { linkId: link.linkId, country: customer?.country ?? country };
  };
}

export type CodeCredit = ReturnType<typeof createCodeCredit>;

/** A click or a partner who came first keeps the customer. */
function isAttributed(customer: Customer | undefined): boolean {
  return customer !== undefined && (customer.clickId !== null || customer.partnerId !== null);
}

/** Where Stripe may answer later the event fails, and comes again. */
function told<T>(answer: StripeAnswer<T>): T | undefined {
  if (answer.ok) return answer.value;
  if (!answer.mayComeRight) return undefined;
  throw new AppError('internal_server_error', answer.message, { retryAfterSeconds: TRY_AGAIN_SECONDS });
}
