// What travels through the pipeline: a click with the record that the steps fill in, or a change of the SQL store.
import { type ClickRecord, DIRECT, UNKNOWN } from '../analytics/click-record.ts';
import { type Change, type Click, type DecodeFailure, decodeEvent } from '../events/event.ts';

export interface ClickEvent {
  readonly kind: 'click';
  readonly raw: Click;
  readonly record: ClickRecord;
}

export interface ChangeEvent {
  readonly kind: 'change';
  readonly change: Change;
}

export type PipelineEvent = ClickEvent | ChangeEvent;

export function decodePipelineEvent(
  payload: Uint8Array,
): { event: PipelineEvent } | { failure: DecodeFailure } {
  const decoded = decodeEvent(payload);
  if ('failure' in decoded) return decoded;
  const { event } = decoded;
  if (event.kind === 'change') return { event };
  return { event: { kind: 'click', raw: event.click, record: emptyRecord(event.click) } };
}

export function clicksOf(events: readonly PipelineEvent[]): ClickRecord[] {
  const clicks: ClickRecord[] = [];
  for (const event of events) if (event.kind === 'click') clicks.push(event.record);
  return clicks;
}

/** What a click says of itself; all that has to be found out is unknown. */
export function emptyRecord(click: Click): ClickRecord {
  return {
    id: click.id,
    timeMs: click.timeMs,
    workspaceId: click.workspaceId,
    linkId: click.linkId,
    domain: click.domain,
    key: click.key,
    url: click.url,
    urlBase: click.url,
    utmSource: '',
    utmMedium: '',
    utmCampaign: '',
    utmTerm: '',
    utmContent: '',
    ip: click.ip,
    continent: '',
    country: UNKNOWN,
    region: UNKNOWN,
    city: UNKNOWN,
    device: 'Desktop',
    browser: UNKNOWN,
    browserVersion: UNKNOWN,
    os: UNKNOWN,
    osVersion: UNKNOWN,
    userAgent: click.userAgent || UNKNOWN,
    trigger: click.trigger,
    qr: click.qr,
    referer: DIRECT,
    refererUrl: DIRECT,
  };
}
