// A webhook: its type and the pure rules about triggers, scope and failures. No store, no rights, no clock.
import { invalid } from '../kernel/errors.ts';
import { chance, randomText, sha256Hex } from '../kernel/ids.ts';

export const TRIGGERS = [
  'link.created',
  'link.updated',
  'link.deleted',
  'link.clicked',
  'lead.created',
  'sale.created',
  'partner.application_submitted',
  'partner.enrolled',
  'partner.merged',
  'commission.created',
  'discount_code.created',
  'discount_code.deleted',
  'bounty.created',
  'bounty.updated',
  'payout.confirmed',
] as const;
export type Trigger = (typeof TRIGGERS)[number];

/** Which clicks a webhook hears of: those on all links, on links in folders, or on single links. */
export const LINK_SCOPES = ['workspace', 'folders', 'links'] as const;
export type LinkScope = (typeof LINK_SCOPES)[number];

/** Turned off by hand, answered that it is gone, failed too often in a row, or fell too far behind. */
export const DISABLED_REASONS = ['by_hand', 'gone', 'failures', 'backlog'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

export const DELIVERY_STATES = ['waiting', 'delivered', 'failed', 'canceled'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export const MAX_LINKS = 1_000;
export const MAX_FOLDERS = 100;
export const MAX_WEBHOOKS = 1_000;

export interface Webhook {
  readonly id: string;
  readonly workspaceId: string;
  readonly name: string;
  readonly url: string;
  readonly secret: string;
  readonly previousSecret: string | null;
  readonly previousSecretUntil: number | null;
  readonly triggers: readonly Trigger[];
  readonly linkScope: LinkScope | null;
  /** Of the integration that manages it, where one does. */
  readonly installationId: string | null;
  readonly disabledAt: number | null;
  readonly disabledReason: DisabledReason | null;
  readonly consecutiveFailures: number;
  readonly lastSuccessAt: number | null;
  readonly lastFailureAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export function isTrigger(type: string): type is Trigger {
  return (TRIGGERS as readonly string[]).includes(type);
}

/** The form that clients know: both signature schemes work with it. */
export function newSecret(): string {
  return `whsec_${sha256Hex(randomText(43)).slice(0, 32)}`;
}

/** What messages are signed with at a time, the present secret first. */
export function secretsOf(webhook: Webhook, nowMs: number): string[] {
  const { secret, previousSecret, previousSecretUntil } = webhook;
  const overlaps = previousSecret !== null && previousSecretUntil !== null && previousSecretUntil > nowMs;
  return overlaps ? [secret, previousSecret] : [secret];
}

/** The part of a webhook that says which clicks it hears of. */
export interface ClickScope {
  readonly triggers: readonly Trigger[];
  readonly linkScope: LinkScope | null;
  readonly linkIds: readonly string[];
  readonly folderIds: readonly string[];
}

/** Refuses what contradicts itself. */
export function assertScope({ triggers, linkScope, linkIds, folderIds }: ClickScope): void {
  const hearsClicks = triggers.includes('link.clicked');
  if (hearsClicks && linkScope === null) {
    throw invalid('triggers', `link.clicked needs a linkScope, one of ${LINK_SCOPES.join(', ')}`);
  }
  if (!hearsClicks && linkScope !== null) {
    throw invalid('linkScope', 'goes with the trigger link.clicked, which is not among the triggers');
  }
  assertList('linkIds', linkIds, linkScope === 'links', 'linkScope links');
  assertList('folderIds', folderIds, linkScope === 'folders', 'linkScope folders');
}

function assertList(field: string, ids: readonly string[], wanted: boolean, scope: string): void {
  if (wanted && ids.length === 0) throw invalid(field, `${scope} needs at least one id`);
  if (!wanted && ids.length > 0) throw invalid(field, `goes with ${scope}`);
}

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const LONGEST_RETRY_MS = 24 * HOUR_MS;
const LONGEST_PAUSE_MS = 2 * HOUR_MS;
/** Spreads those who failed at the same moment. */
const JITTER = 0.1;

/** After so many attempts a delivery is left to be replayed by hand: about five days after the first. */
export const MAX_ATTEMPTS = 10;
/** So many failures in a row disable a webhook. */
export const FAILURES_TO_DISABLE = 20;
/** And at these the operator is told. */
export const FAILURES_TO_TELL: readonly number[] = [5, 10, 15];

/** How long a delivery waits after its nth attempt failed: 12 s, 2 min 28 s, 30 min, 6 h, then a day each. */
export function retryDelayMs(attempt: number, random: () => number = chance): number {
  const delayMs = Math.min(LONGEST_RETRY_MS, Math.exp(2.5 * attempt) * SECOND_MS);
  return Math.round(delayMs * (1 + JITTER * random()));
}

/**
 * How long a receiver that failed so many times in a row is left alone, whatever is waiting for it: an outage of
 * hours under load must not use up the failures that disable a webhook.
 */
export function pauseMs(failures: number): number {
  return failures === 0 ? 0 : Math.min(LONGEST_PAUSE_MS, 2 ** failures * SECOND_MS);
}

/** What a receiver asks for in a Retry-After header; undefined when it asks for nothing that can be read. */
export function readRetryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(header.trim()) ? Number(header) * SECOND_MS : Date.parse(header) - nowMs;
  return Number.isFinite(ms) && ms > 0 ? Math.min(ms, LONGEST_RETRY_MS) : undefined;
}
