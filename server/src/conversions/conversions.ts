// Conversions as the rest of the product uses them: leads, sales, refunds, and what tests of links ask.
import type { Link } from '../links/link.ts';
import { type ClickCreditParts, createClickCredit } from './click-credit.ts';
import type { ConversionStore } from './conversion.store.ts';
import type { Currencies } from './currencies.ts';
import { createEnteredConversions } from './entered.ts';
import { createLeads } from './leads.ts';
import { createMadeClicks, type MadeClicksParts } from './made-clicks.ts';
import { createRecording, type RecordingParts } from './recording.ts';
import { createRefunds } from './refunds.ts';
import { createSales } from './sales.ts';

export interface ConversionsParts
  extends Omit<RecordingParts, 'credit' | 'madeClicks'>,
    ClickCreditParts,
    Pick<MadeClicksParts, 'countClick'> {
  readonly store: ConversionStore;
  readonly currencies: Currencies;
}

export function createConversions(parts: ConversionsParts) {
  const madeClicks = createMadeClicks(parts);
  const credit = createClickCredit(parts);
  const recording = createRecording({ ...parts, credit, madeClicks });
  const leads = createLeads(recording);
  const sales = createSales(recording, leads, parts.currencies);

  return {
    trackLead: leads.track,
    trackSale: sales.track,
    refund: createRefunds(recording),
    enter: createEnteredConversions(recording, leads, sales),
    /** Undefined when the workspace has no such click. */
    findClick: (workspaceId: string, id: string) => credit.findClick(workspaceId, id),
  };
}

export type Conversions = ReturnType<typeof createConversions>;

/** Leads since the test of a link began, by the destination under test that the visitor was sent to. */
export function leadsOfTest(store: Pick<ConversionStore, 'countLeadsByUrl'>) {
  return (link: Link): Promise<Map<string, number>> =>
    store.countLeadsByUrl(
      link.id,
      link.testStartedAt ?? 0,
      (link.testVariants ?? []).map(({ url }) => url),
    );
}
