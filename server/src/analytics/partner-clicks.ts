// Clicks of one partner's links, as rewards for clicks ask for them.
import type { CountClicks } from '../partners/click-commissions.ts';
import type { AggregateQuery, EventReader } from './query.ts';

export function createPartnerClicks(aggregate: EventReader['aggregate']): CountClicks {
  return async ({ workspaceId, partnerId, linkId, fromMs, toMs }, signal) => {
    const query: AggregateQuery = {
      workspaceId,
      fromMs,
      toMs,
      partnerId: { not: false, values: [partnerId] },
      event: 'clicks',
      ...(linkId === undefined ? { groupBy: 'top_links' } : { groupBy: 'countries', fixedLinkId: linkId }),
    };
    const name = linkId === undefined ? 'id' : 'country';
    const rows = await aggregate(query, signal);
    return rows.map(({ group, clicks }) => ({ value: group[name] as string, clicks }));
  };
}
