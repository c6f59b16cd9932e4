// A click as it stands in a dump: as analytics stores it, with its time in words and without what is not known.
// What a line leaves out is unknown, or follows from the destination.
import { z } from 'zod';
import { type ClickRecord, DIRECT, UNKNOWN } from '../analytics/click-record.ts';
import { destinationParts } from '../analytics/destination-parts.ts';
import { TRIGGERS } from '../events/event.ts';
import { isoTime } from '../kernel/clock.ts';
import { instant, wellFormed } from './field.ts';

const MAX_ID = 255;
const MAX_TEXT = 32_000;

const id = wellFormed(MAX_ID, 1);
const known = wellFormed(MAX_TEXT).optional();

const fields = z.strictObject({
  id,
  time: instant,
  workspaceId: id,
  linkId: id,
  domain: known,
  key: known,
  url: known,
  ip: known,
  continent: z.enum(['AF', 'AN', 'AS', 'EU', 'NA', 'OC', 'SA']).optional(),
  country: known,
  region: known,
  city: known,
  device: known,
  browser: known,
  browserVersion: known,
  os: known,
  osVersion: known,
  userAgent: known,
  trigger: z.enum(TRIGGERS).default('link'),
  qr: z.boolean().optional(),
  referer: known,
  refererUrl: known,
});

export const clickLine = fields.transform(toRecord);

function toRecord({ time, trigger, ...line }: z.output<typeof fields>): ClickRecord {
  const url = line.url ?? '';
  return {
    id: line.id,
    timeMs: time,
    workspaceId: line.workspaceId,
    linkId: line.linkId,
    domain: line.domain ?? '',
    key: line.key ?? '',
    url,
    ...destinationParts(url),
    ip: line.ip ?? '',
    continent: line.continent ?? '',
    country: line.country ?? UNKNOWN,
    region: line.region ?? UNKNOWN,
    city: line.city ?? UNKNOWN,
    device: line.device ?? 'Desktop',
    browser: line.browser ?? UNKNOWN,
    browserVersion: line.browserVersion ?? UNKNOWN,
    os: line.os ?? UNKNOWN,
    osVersion: line.osVersion ?? UNKNOWN,
    userAgent: line.userAgent ?? UNKNOWN,
    trigger,
    qr: line.qr ?? trigger === 'qr',
    referer: line.referer ?? DIRECT,
    refererUrl: line.refererUrl ?? DIRECT,
  };
}

/** Made anew from the destination. */
const FOLLOWING = new Set(['urlBase', 'utmSource', 'utmMedium', 'utmCampaign', 'utmTerm', 'utmContent']);

export function presentClick({ id, timeMs, ...click }: ClickRecord): Record<string, unknown> {
  const stated = Object.entries(click).filter(
    ([name, value]) => !FOLLOWING.has(name) && value !== '' && value !== UNKNOWN,
  );
  return { id, time: isoTime(timeMs), ...Object.fromEntries(stated) };
}
