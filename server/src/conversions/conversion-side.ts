// The part of the composition root for conversions: their service on its store, and the exchange rates they use.
import type { ClickRecord } from '../analytics/click-record.ts';
import type { Database } from '../db/database.ts';
import { groupWrites } from '../db/group-writes.ts';
import { clickTime, createClickIds } from '../events/click-id.ts';
import { AppError } from '../kernel/errors.ts';
import { createConversionStore } from './conversion.store.ts';
import { type Conversions, type ConversionsParts, createConversions, leadsOfTest } from './conversions.ts';
import { type Currencies, createCurrencies, readRates } from './currencies.ts';

export interface ConversionSideParts
  extends Omit<ConversionsParts, 'write' | 'store' | 'eventIds' | 'findRecordedClick' | 'findLink'> {
  readonly findLinks: (ids: readonly string[]) => Promise<readonly LinkOf<ConversionsParts>[]>;
  /** In the event store, or on its way there. */
  readonly findClick: (id: string) => Promise<object | undefined>;
}

type LinkOf<P extends Pick<ConversionsParts, 'findLink'>> = NonNullable<Awaited<ReturnType<P['findLink']>>>;

const TRY_AGAIN_SECONDS = 5;

export function createConversionSide(parts: ConversionSideParts): { conversions: Conversions } {
  const { db, clock, findLinks } = parts;
  const conversions = createConversions({
    ...parts,
    store: createConversionStore(db),
    write: groupWrites(db),
    // Their form and order are those of click ids.
    eventIds: createClickIds(clock),
    findRecordedClick: recordedClicks(parts),
    findLink: async (id) => (await findLinks([id]))[0],
  });
  return { conversions };
}

/** How many leads each destination under test brought. */
export const createLeadsByUrl = (db: Database) => leadsOfTest(createConversionStore(db));

/** Only ids of our own form are looked for in the event store: it finds them by the time they carry. */
function recordedClicks({ findClick }: ConversionSideParts) {
  return async (id: string): Promise<ClickRecord | undefined> => {
    if (clickTime(id) === undefined) return undefined;
    try {
      return (await findClick(id)) as ClickRecord | undefined;
    } catch (cause) {
      throw new AppError('internal_server_error', 'Clicks cannot be read at the moment. Try again.', {
        cause,
        retryAfterSeconds: TRY_AGAIN_SECONDS,
      });
    }
  };
}

/** The rates that come with the product, or those of the operator's file. */
export async function openCurrencies(path: string | undefined): Promise<Currencies> {
  if (path === undefined) return createCurrencies();
  try {
    return createCurrencies(await readRates(path));
  } catch (error) {
    throw new Error(
      `LINKTRAIL_CURRENCY_RATES_FILE is "${path}", which cannot be used: ${(error as Error).message}`,
    );
  }
}
