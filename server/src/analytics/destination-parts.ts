// What analytics keeps of a destination beside the whole: the part before the query, and the campaign in it.
import type { ClickRecord } from './click-record.ts';

export type DestinationParts = Pick<
  ClickRecord,
  'urlBase' | 'utmSource' | 'utmMedium' | 'utmCampaign' | 'utmTerm' | 'utmContent'
>;

const NO_CAMPAIGN = { utmSource: '', utmMedium: '', utmCampaign: '', utmTerm: '', utmContent: '' };

export function destinationParts(url: string): DestinationParts {
  const mark = url.indexOf('?');
  if (mark === -1) return { urlBase: url, ...NO_CAMPAIGN };
  const urlBase = url.slice(0, mark);
  if (!url.includes('utm_')) return { urlBase, ...NO_CAMPAIGN };
  const hash = url.indexOf('#');
  if (hash !== -1 && hash < mark) return { urlBase, ...NO_CAMPAIGN };
  const query = new URLSearchParams(url.slice(mark + 1, hash === -1 ? undefined : hash));
  return {
    urlBase,
    utmSource: query.get('utm_source') ?? '',
    utmMedium: query.get('utm_medium') ?? '',
    utmCampaign: query.get('utm_campaign') ?? '',
    utmTerm: query.get('utm_term') ?? '',
    utmContent: query.get('utm_content') ?? '',
  };
}
