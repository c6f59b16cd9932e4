// Amounts of money in any currency as US cents, by a table of rates of one day. Integers in, integers out.
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { invalid } from '../kernel/errors.ts';
import { type CurrencyRates, SHIPPED_RATES } from './currency-rates.ts';

export const USD = 'usd';

/** The largest amount of one sale; sums of many stay exact. */
export const MAX_AMOUNT = 10_000_000_000_000;

/** Currencies whose amounts are given in whole units. */
const WHOLE_UNITS = new Set('bif clp djf gnf jpy kmf krw mga pyg rwf ugx vnd vuv xaf xof xpf'.split(' '));
/** Currencies whose smallest unit is a thousandth. */
const THOUSANDTHS = new Set('bhd iqd jod kwd lyd omr tnd'.split(' '));

export interface Currencies {
  /** US cents; refuses a currency without a rate, and what is too much to count. */
  toCents(amount: number, currency: string): number;
}

export function createCurrencies({ rates, date }: CurrencyRates = SHIPPED_RATES): Currencies {
  const known = new Map(Object.entries(rates));
  return {
    toCents(amount, currency) {
      if (currency === USD) return amount;
      const rate = known.get(currency);
      if (rate === undefined) {
        throw invalid(
          'currency',
          `${currency} is not in the table of rates of ${date}; send a code of ISO 4217 such as eur`,
        );
      }
      const cents = Math.round((amount * 100) / unitsPerWhole(currency) / rate);
      if (cents > MAX_AMOUNT) throw invalid('amount', `is more than ${MAX_AMOUNT} US cents`);
      return cents;
    },
  };
}

function unitsPerWhole(currency: string): number {
  if (WHOLE_UNITS.has(currency)) return 1;
  return THOUSANDTHS.has(currency) ? 1_000 : 100;
}

const fileSchema = z.object({
  date: z.iso.date(),
  base: z.literal(USD, 'must be usd: rates are units for one US dollar').optional(),
  rates: z
    .record(
      z.string().regex(/^[A-Za-z]{3}$/, 'must be a code of three letters'),
      z.number().positive().max(1e12),
    )
    .refine((rates) => Object.keys(rates).length > 0, 'must not be empty'),
});

/** Rates from a file that an operator keeps; what is wrong with it is said by field. */
export async function readRates(path: string): Promise<CurrencyRates> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw new Error(`cannot be read as JSON: ${(cause as Error).message}`, { cause });
  }
  const parsed = fileSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(`${issue?.path.join('.') || 'the file'}: ${issue?.message}`);
  }
  const { date, rates } = parsed.data;
  const lower = Object.entries(rates).map(([code, rate]) => [code.toLowerCase(), rate] as const);
  return { date, rates: Object.fromEntries(lower) };
}
