// The steps that enrich a click, in order. Each reads the raw click and fills in its part of the record, so a
// click that comes again, by replay or rebuild, ends in the same record.
import type { ClickRecord } from '../analytics/click-record.ts';
import type { Step } from '../events/enrich.ts';
import type { Click } from '../events/event.ts';
import { continentOf, keepsNoAddress } from './continents.ts';
import type { PipelineEvent } from './pipeline-event.ts';
import type { FindPlace } from './places.ts';
import type { Agent } from './user-agent.ts';

export interface ClickStepParts {
  readonly readAgent: (userAgent: string) => Agent;
  readonly findPlace: FindPlace;
}

export function clickSteps({ readAgent, findPlace }: ClickStepParts): Step<PipelineEvent>[] {
  return [
    onClick('device', (click, record) => {
      if (click.userAgent === '') return;
      const agent = readAgent(click.userAgent);
      record.device = agent.device;
      record.browser = agent.browser;
      record.browserVersion = agent.browserVersion;
      record.os = agent.os;
      record.osVersion = agent.osVersion;
    }),
    onClick('place', (click, record) => {
      const { country, region, city } = findPlace(click.ip);
      // A trusted proxy that names the country knows it better than the file.
      const named = click.countryHint !== '' && click.countryHint !== country;
      record.country = named ? click.countryHint : country;
      if (!named) {
        record.region = region;
        record.city = city;
      }
      record.continent = continentOf(record.country);
    }),
    onClick('referer', addReferer),
    onClick('destination', addDestination),
    onClick('privacy', (_click, record) => {
      if (keepsNoAddress(record.country)) record.ip = '';
    }),
  ];
}

function onClick(name: string, fill: (click: Click, record: ClickRecord) => void): Step<PipelineEvent> {
  return {
    name,
    run(event) {
      if (event.kind === 'click') fill(event.raw, event.record);
      return event;
    },
  };
}

function addReferer({ referer }: Click, record: ClickRecord): void {
  const host = referer === '' ? undefined : URL.parse(referer)?.hostname;
  if (!host) return;
  record.referer = host.replace(/^www\./, '');
  record.refererUrl = referer;
}

function addDestination({ url }: Click, record: ClickRecord): void {
  const mark = url.indexOf('?');
  if (mark === -1) return;
  record.urlBase = url.slice(0, mark);
  if (!url.includes('utm_')) return;
  const hash = url.indexOf('#');
  if (hash !== -1 && hash < mark) return;
  const query = new URLSearchParams(url.slice(mark + 1, hash === -1 ? undefined : hash));
  record.utmSource = query.get('utm_source') ?? '';
  record.utmMedium = query.get('utm_medium') ?? '';
  record.utmCampaign = query.get('utm_campaign') ?? '';
  record.utmTerm = query.get('utm_term') ?? '';
  record.utmContent = query.get('utm_content') ?? '';
}
