// The versioned form of an event in the journal: raw facts only, nothing that can be derived from them later.
// A record is version, kind, a block of numbers and a list of texts. Both blocks carry their size, so fields
// can be added at the end of either without a new version: an old reader ignores them, a new one fills gaps.
import { IP_PRIVACY, type IpPrivacy } from '../kernel/ip-privacy.ts';

export const TRIGGERS = ['link', 'qr', 'pageview', 'deeplink'] as const;
export type Trigger = (typeof TRIGGERS)[number];

/** One recorded visit, as seen when it was answered. Texts are empty when the visit did not have them. */
export interface Click {
  id: string;
  timeMs: number;
  workspaceId: string;
  linkId: string;
  domain: string;
  key: string;
  /** Where the visitor was sent. */
  url: string;
  ip: string;
  userAgent: string;
  referer: string;
  trigger: Trigger;
  /** The visit asked for `qr=1`, whatever triggered it. */
  qr: boolean;
  /** What may be kept of `ip`, as the workspace had it when the visit was answered. */
  ipPrivacy: IpPrivacy;
  /** The country a trusted proxy named; empty when none did. */
  countryHint: string;
}

/** A change in the SQL store, relayed from its outbox; `outboxId` makes a repeated relay recognisable. */
export interface Change {
  outboxId: number;
  workspaceId: string;
  type: string;
  /** JSON text. */
  payload: string;
  createdAtMs: number;
}

export type JournalEvent = { kind: 'click'; click: Click } | { kind: 'change'; change: Change };

export type DecodeFailure = 'unknown_version' | 'unknown_kind' | 'malformed';
export type Decoded = { event: JournalEvent } | { failure: DecodeFailure };

export interface EventEncoder {
  /** The bytes are valid until the next call: hand them to the journal at once. */
  click(click: Click): Uint8Array;
  change(change: Change): Uint8Array;
}

const VERSION = 1;
const KIND_CLICK = 1;
const KIND_CHANGE = 2;
const CLICK_NUMBER_BYTES = 8;
const CHANGE_NUMBER_BYTES = 14;
const FLAG_QR = 1;
/** Two bits of the flags. */
const PRIVACY_SHIFT = 1;
const PRIVACY_MASK = 3;
const MAX_VARINT_BYTES = 5;
/** Buffers above this size are not kept for the next event. */
const KEPT_BYTES = 64 * 1024;

const TRIGGER_CODES: Record<Trigger, number> = { link: 0, qr: 1, pageview: 2, deeplink: 3 };
const PRIVACY_CODES: Record<IpPrivacy, number> = { standard: 0, keep: 1, truncate: 2, drop: 3 };

export function createEventEncoder(): EventEncoder {
  const kept = Buffer.allocUnsafeSlow(KEPT_BYTES);
  return {
    click: (click) => encodeClick(click, kept),
    change: (change) => encodeChange(change, kept),
  };
}

function encodeClick(click: Click, kept: Buffer): Uint8Array {
  const texts = [
    click.id,
    click.workspaceId,
    click.linkId,
    click.domain,
    click.key,
    click.url,
    click.ip,
    click.userAgent,
    click.referer,
    click.countryHint,
  ];
  const target = begin(kept, KIND_CLICK, CLICK_NUMBER_BYTES, texts);
  writeU48(target, 3, click.timeMs);
  target[9] = TRIGGER_CODES[click.trigger];
  target[10] = (click.qr ? FLAG_QR : 0) | (PRIVACY_CODES[click.ipPrivacy] << PRIVACY_SHIFT);
  return writeTexts(target, 3 + CLICK_NUMBER_BYTES, texts);
}

function encodeChange(change: Change, kept: Buffer): Uint8Array {
  const texts = [change.workspaceId, change.type, change.payload];
  const target = begin(kept, KIND_CHANGE, CHANGE_NUMBER_BYTES, texts);
  target.writeBigUInt64LE(BigInt(change.outboxId), 3);
  writeU48(target, 11, change.createdAtMs);
  return writeTexts(target, 3 + CHANGE_NUMBER_BYTES, texts);
}

/** A buffer that surely holds the event, with the first three bytes in place. */
function begin(kept: Buffer, kind: number, numberBytes: number, texts: readonly string[]): Buffer {
  let needed = 4 + numberBytes + texts.length * MAX_VARINT_BYTES;
  for (const text of texts) needed += text.length * 3;
  const target = needed <= KEPT_BYTES ? kept : Buffer.allocUnsafeSlow(needed);
  target[0] = VERSION;
  target[1] = kind;
  target[2] = numberBytes;
  return target;
}

/**
 * All texts go out as one UTF-8 text after their lengths in UTF-16 units: one native call instead of one per
 * field, which is most of the cost of a click.
 */
function writeTexts(target: Buffer, at: number, texts: readonly string[]): Uint8Array {
  target[at] = texts.length;
  let end = at + 1;
  let all = '';
  for (const text of texts) {
    end = writeVarint(target, end, text.length);
    all += text;
  }
  end += target.write(all, end, 'utf8');
  return target.subarray(0, end);
}

function writeVarint(target: Buffer, at: number, value: number): number {
  let rest = value;
  let end = at;
  while (rest > 127) {
    target[end++] = (rest & 127) | 128;
    rest >>>= 7;
  }
  target[end++] = rest;
  return end;
}

function writeU48(target: Buffer, at: number, value: number): void {
  target.writeUIntLE(value, at, 6);
}

/** Never throws: what this release cannot read is a failure with a name. */
export function decodeEvent(payload: Uint8Array): Decoded {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  if (bytes.length < 2) return { failure: 'malformed' };
  if (bytes[0] !== VERSION) return { failure: 'unknown_version' };
  const kind = bytes[1];
  if (kind !== KIND_CLICK && kind !== KIND_CHANGE) return { failure: 'unknown_kind' };
  const texts = readTexts(bytes);
  if (!texts) return { failure: 'malformed' };
  const event = kind === KIND_CLICK ? readClick(bytes, texts) : readChange(bytes, texts);
  return event ? { event } : { failure: 'malformed' };
}

function readTexts(bytes: Buffer): string[] | undefined {
  let at = 3 + (bytes[2] ?? 0);
  const count = bytes[at++];
  if (count === undefined) return undefined;
  const lengths: number[] = [];
  for (let i = 0; i < count; i++) {
    let value = 0;
    let byte = 128;
    for (let shift = 0; byte > 127; shift += 7) {
      if (at >= bytes.length || shift >= 7 * MAX_VARINT_BYTES) return undefined;
      byte = bytes[at++] as number;
      value += (byte & 127) * 2 ** shift;
    }
    lengths.push(value);
  }
  return sliceTexts(bytes.toString('utf8', at), lengths);
}

function sliceTexts(all: string, lengths: readonly number[]): string[] | undefined {
  const texts: string[] = [];
  let start = 0;
  for (const length of lengths) {
    if (start + length > all.length) return undefined;
    texts.push(all.slice(start, start + length));
    start += length;
  }
  return texts;
}

function readClick(bytes: Buffer, texts: readonly string[]): JournalEvent | undefined {
  const trigger = TRIGGERS[bytes[9] ?? TRIGGERS.length];
  if ((bytes[2] as number) < CLICK_NUMBER_BYTES || trigger === undefined) return undefined;
  const text = (i: number) => texts[i] ?? '';
  const flags = bytes[10] ?? 0;
  const click: Click = {
    id: text(0),
    timeMs: bytes.readUIntLE(3, 6),
    workspaceId: text(1),
    linkId: text(2),
    domain: text(3),
    key: text(4),
    url: text(5),
    ip: text(6),
    userAgent: text(7),
    referer: text(8),
    trigger,
    qr: (flags & FLAG_QR) !== 0,
    ipPrivacy: IP_PRIVACY[(flags >> PRIVACY_SHIFT) & PRIVACY_MASK] as IpPrivacy,
    countryHint: text(9),
  };
  return { kind: 'click', click };
}

function readChange(bytes: Buffer, texts: readonly string[]): JournalEvent | undefined {
  if ((bytes[2] as number) < CHANGE_NUMBER_BYTES) return undefined;
  const [workspaceId = '', type = '', payload = ''] = texts;
  const outboxId = Number(bytes.readBigUInt64LE(3));
  return {
    kind: 'change',
    change: { outboxId, workspaceId, type, payload, createdAtMs: bytes.readUIntLE(11, 6) },
  };
}
