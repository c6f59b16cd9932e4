// The steps that enrich a click, in order. Each reads the raw click and fills in its part of the record, so a
// click that comes again, by replay or rebuild, ends in the same record.
import type { ClickRecord } from '../analytics/click-record.ts';
import { destinationParts } from '../analytics/destination-parts.ts';
import type { Step } from '../events/enrich.ts';
import type { Click } from '../events/event.ts';
import { continentOf, keepsNoAddress } from '../kernel/continents.ts';
import { keepInDestination, keptAddress } from '../kernel/ip-privacy.ts';
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
    onClick('privacy', keepAddress),
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

function keepAddress({ ip, ipPrivacy }: Click, record: ClickRecord): void {
  record.ip = keptAddress(ip, ipPrivacy, keepsNoAddress(record.country));
  record.url = keepInDestination(record.url, ip, record.ip);
}

function addReferer({ referer }: Click, record: ClickRecord): void {
  const host = referer === '' ? undefined : URL.parse(referer)?.hostname;
  if (!host) return;
  record.referer = host.replace(/^www\./, '');
  record.refererUrl = referer;
}

function addDestination({ url }: Click, record: ClickRecord): void {
  if (url.includes('?')) Object.assign(record, destinationParts(url));
}
