// Clicks of one partner's links, as rewards for clicks ask for them.
import type { CountClicks } from '../partners/click-commissions.ts';
import { type AggregateQuery, type EventReader, MAX_GROUPS } from './query.ts';

export function createPartnerClicks(aggregate: EventReader['aggregate']): CountClicks {
  return async ({ workspaceId, partnerId, fromMs, toMs, of }, signal) => {
    const common = { workspaceId, fromMs, toMs, event: 'clicks', partnerId: only([partnerId]) } as const;
    const byCountry = 'countriesOf' in of;
    const query: AggregateQuery = byCountry
      ? { ...common, groupBy: 'countries', fixedLinkId: of.countriesOf }
      : { ...common, groupBy: 'top_links', ...(of.linkIds && { linkId: only(of.linkIds) }) };
    const rows = await aggregate(query, signal);
    const counts = rows.map(({ group, clicks }) => ({
      value: group[byCountry ? 'country' : 'id'] as string,
      clicks,
    }));
    return { counts, isAll: rows.length < MAX_GROUPS };
  };
}

const only = (values: readonly string[]) => ({ not: false, values });
