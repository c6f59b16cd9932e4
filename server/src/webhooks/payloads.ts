// What receivers are told of each event, and where that comes from. All that happens elsewhere in the product
// and is not in this table stays inside.
import { isoTime } from '../kernel/clock.ts';
import { randomText } from '../kernel/ids.ts';
import { isTrigger, type Trigger } from './webhook.ts';

/** A change as the outbox holds it; both texts are JSON. */
export interface OutboxChange {
  readonly workspaceId: string;
  readonly type: string;
  readonly payload: string;
  readonly webhook: string | null;
}

/**
 * payload: what the change itself says; told: only what was written down for receivers (the change itself speaks
 * another language); clicks: never in the outbox, they come from the journal.
 */
const SOURCES: Readonly<Record<Trigger, 'payload' | 'told' | 'clicks'>> = {
  'link.created': 'payload',
  'link.updated': 'payload',
  'link.deleted': 'payload',
  'link.clicked': 'clicks',
  'lead.created': 'told',
  'sale.created': 'told',
  'partner.application_submitted': 'told',
  'partner.enrolled': 'told',
  'partner.merged': 'told',
  'commission.created': 'told',
  'discount_code.created': 'told',
  'discount_code.deleted': 'told',
  'bounty.created': 'told',
  'bounty.updated': 'told',
  'payout.confirmed': 'told',
};

/** What is to be sent, as JSON text; undefined when nobody outside is told of the change. */
export function publicData(change: OutboxChange): { trigger: Trigger; data: string } | undefined {
  const { type, payload, webhook } = change;
  if (!isTrigger(type) || SOURCES[type] === 'clicks') return undefined;
  const data = webhook ?? (SOURCES[type] === 'payload' ? payload : undefined);
  return data === undefined ? undefined : { trigger: type, data };
}

/** Whom the data tells about; undefined where it holds no customer. */
export function customerOf(data: string): string | undefined {
  // Most data holds none, and is large: reading it all would cost more than looking for the word.
  if (!data.includes('"customer"')) return undefined;
  const { customer } = JSON.parse(data) as { customer?: { id?: unknown } | null };
  return typeof customer?.id === 'string' ? customer.id : undefined;
}

export interface NewMessage {
  readonly id: string;
  readonly workspaceId: string;
  readonly event: Trigger;
  readonly body: string;
  /** The customer or the click that it tells of. */
  readonly subjectId: string | null;
}

/**
 * The envelope, made once: every receiver and every attempt gets the same bytes. `data` is JSON text. `subjectId`: by
 * default the customer that the data holds.
 */
export function newMessage(
  workspaceId: string,
  event: Trigger,
  data: string,
  nowMs: number,
  subjectId: string | null = customerOf(data) ?? null,
): NewMessage {
  const id = `evt_${randomText(25)}`;
  return { id, workspaceId, event, body: envelope(id, event, nowMs, data), subjectId };
}

export function envelope(id: string, event: string, createdAt: number, data: string): string {
  return `{"id":"${id}","event":"${event}","createdAt":"${isoTime(createdAt)}","data":${data}}`;
}
