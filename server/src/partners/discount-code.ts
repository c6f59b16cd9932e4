// A code that customers of a partner pay less with: its type, how receivers see it, and how one is made up.
import type { Selectable } from 'kysely';
import type { Fields } from '../db/row.ts';
import type { Schema } from '../db/schema.ts';
import { isoTime } from '../kernel/clock.ts';
import { randomText } from '../kernel/ids.ts';
import { type Discount, shownAmount } from './discount.ts';

export type DiscountCode = Omit<Fields<Selectable<Schema['discount_code']>>, 'codeFolded'>;

export const CODE_ID_PREFIX = 'dcode_';
export const MAX_CODE_LENGTH = 100;
/** Codes that were made up and are taken get a longer ending so many times. */
export const CODE_TRIES = 3;

const MAX_NAME_LENGTH = 60;

/** First name, amount and OFF, such as MIA20OFF. */
export function codeFor(name: string | null, discount: Pick<Discount, 'type' | 'amount'>): string {
  const [first = ''] = (name ?? '').trim().split(/\s+/);
  const letters = first
    .normalize('NFKD')
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]/g, '');
  const shown = shownAmount(discount);
  const amount = Math.round(discount.type === 'flat' ? shown / 100 : shown);
  return `${letters.slice(0, MAX_NAME_LENGTH) || 'PARTNER'}${amount || ''}OFF`;
}

/** Two more characters, for a code that somebody else has. */
export function longerCode(code: string): string {
  return `${code}${randomText(2).toUpperCase()}`;
}

/** As the API shows it. */
export function presentCode({ id, code, discountId, partnerId, linkId, disabledAt }: DiscountCode) {
  return { id, code, discountId, partnerId, linkId, disabledAt: timeOrNull(disabledAt) };
}

/** As receivers of webhooks see it: with what it is worth. */
export function presentToldCode(told: DiscountCode, discount: Discount | undefined) {
  const { discountId: _, ...shown } = presentCode(told);
  return { ...shown, discount: discount ? presentWorth(discount) : null };
}

function presentWorth(discount: Discount) {
  const { id, type, maxDuration, provider } = discount;
  return { id, amount: shownAmount(discount), type, maxDuration, provider };
}

function timeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}
