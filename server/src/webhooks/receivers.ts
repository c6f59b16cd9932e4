// What a receiver is sent. Most get the envelope; two services understand only their own form, and are known by
// their host.
import type { Trigger } from './webhook.ts';

export interface Envelope {
  readonly id: string;
  readonly event: Trigger;
  readonly createdAt: string;
  readonly data: Readonly<Record<string, unknown>>;
}

type Form = (envelope: Envelope) => unknown;

const FORMS: Readonly<Record<string, Form>> = {
  'hooks.slack.com': slackMessage,
  'api.segment.io': segmentEvent,
};

/** `body` is the envelope as text: where nothing else is wanted it is sent as it is, byte for byte. */
export function requestBody(url: string, body: string): string {
  const form = FORMS[URL.parse(url)?.hostname ?? ''];
  return form ? JSON.stringify(form(JSON.parse(body) as Envelope)) : body;
}

const TITLES: Readonly<Record<Trigger, string>> = {
  'link.created': 'A link was created',
  'link.updated': 'A link was updated',
  'link.deleted': 'A link was deleted',
  'link.clicked': 'A link was clicked',
  'lead.created': 'A new lead',
  'sale.created': 'A new sale',
  'partner.application_submitted': 'A partner has applied',
  'partner.enrolled': 'A partner joined',
  'partner.merged': 'Two partners were merged',
  'commission.created': 'A commission was earned',
  'discount_code.created': 'A discount code was created',
  'discount_code.deleted': 'A discount code was deleted',
  'bounty.created': 'A bounty was created',
  'bounty.updated': 'A bounty was updated',
  'payout.confirmed': 'A payout was confirmed',
};

function slackMessage({ event, data }: Envelope): unknown {
  const title = TITLES[event];
  const fields = describe(data).map(([name, value]) => `*${name}:* ${escapeSlack(value)}`);
  const text = [`*${title}*`, ...fields].join('\n');
  return { text: title, blocks: [{ type: 'section', text: { type: 'mrkdwn', text } }] };
}

/** The few things that tell a person what it is about. */
function describe(data: Envelope['data']): [string, string][] {
  const link = (data.link ?? (data.shortLink ? data : undefined)) as Record<string, unknown> | undefined;
  const customer = data.customer as Record<string, unknown> | undefined;
  const partner = (data.partner ?? undefined) as Record<string, unknown> | undefined;
  const sale = data.sale as Record<string, unknown> | undefined;
  const click = data.click as Record<string, unknown> | undefined;
  const known: [string, unknown][] = [
    ['Link', link?.shortLink],
    ['Destination', link?.url],
    ['Country', click?.country],
    ['Referrer', click?.referer],
    ['Event', data.eventName],
    ['Customer', customer?.email ?? customer?.name],
    ['Amount', money(sale?.amount ?? data.earnings ?? data.amount, sale?.currency ?? data.currency)],
    ['Partner', partner?.email ?? partner?.name],
    ['Name', data.name],
    ['Code', data.code],
  ];
  return known.flatMap(([name, value]) => (typeof value === 'string' && value !== '' ? [[name, value]] : []));
}

function money(cents: unknown, currency: unknown): string | undefined {
  if (typeof cents !== 'number') return undefined;
  return `${(cents / 100).toFixed(2)} ${typeof currency === 'string' ? currency.toUpperCase() : 'USD'}`;
}

/** Slack reads these three as its own marks, and lets nobody call a whole channel with them escaped. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function segmentEvent({ id, event, createdAt, data }: Envelope): unknown {
  const customer = data.customer as { id?: string; externalId?: string | null } | null | undefined;
  const userId = customer?.externalId || customer?.id;
  const click = data.click as { id?: string } | undefined;
  return {
    type: 'track',
    messageId: id,
    timestamp: createdAt,
    event: TITLES[event],
    // Segment takes no event of nobody.
    ...(userId ? { userId } : { anonymousId: click?.id ?? id }),
    properties: { trigger: event, ...data },
    context: { library: { name: 'linktrail' } },
  };
}
