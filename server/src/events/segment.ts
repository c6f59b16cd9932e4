// The bytes of a segment file. Header: two equal copies, so that damage to one loses nothing. Record: checksum,
// length with a check byte, payload. A random seed per segment goes into every checksum: neither old disk
// blocks nor text sent by a visitor can pass for a record.
import { crc32 } from 'node:zlib';

export const HEADER_BYTES = 64;
export const RECORD_OVERHEAD_BYTES = 8;
export const MAX_PAYLOAD_BYTES = 0xff_ff_ff;

const COPY_BYTES = 32;
const MAGIC = 0x4c544a4c;
const FORMAT_VERSION = 1;
const NAME = /^(\d{16})\.log$/;

export interface SegmentHeader {
  readonly segment: number;
  /** The segment begun before this one; 0 for the first. Shows when one in between is gone. */
  readonly previous: number;
  readonly createdMs: number;
  readonly seed: number;
}

export function segmentName(segment: number): string {
  return `${String(segment).padStart(16, '0')}.log`;
}

export function listSegmentNumbers(names: readonly string[]): number[] {
  return names
    .map((name) => NAME.exec(name)?.[1])
    .filter((digits) => digits !== undefined)
    .map(Number)
    .sort((a, b) => a - b);
}

/** A seed is odd, so that zeroes are never an empty record. */
export function seedFrom(randomText: string): number {
  return (crc32(randomText) | 1) >>> 0;
}

export function encodeHeader(header: SegmentHeader): Buffer {
  const copy = Buffer.alloc(COPY_BYTES);
  copy.writeUInt32BE(MAGIC, 0);
  copy.writeUInt16LE(FORMAT_VERSION, 4);
  copy.writeUIntLE(header.segment, 6, 6);
  copy.writeUIntLE(header.previous, 12, 6);
  copy.writeUIntLE(header.createdMs, 18, 6);
  copy.writeUInt32LE(header.seed, 24);
  copy.writeUInt32LE(crc32(copy.subarray(0, 28)), 28);
  return Buffer.concat([copy, copy]);
}

/** Undefined when both copies are unreadable; throws for a format of a later release, which is no damage. */
export function decodeHeader(bytes: Buffer): SegmentHeader | undefined {
  for (const start of [0, COPY_BYTES]) {
    const copy = bytes.subarray(start, start + COPY_BYTES);
    if (copy.length < COPY_BYTES || copy.readUInt32LE(28) !== crc32(copy.subarray(0, 28))) continue;
    if (copy.readUInt32BE(0) !== MAGIC) continue;
    const version = copy.readUInt16LE(4);
    if (version !== FORMAT_VERSION) {
      throw new Error(`The journal has format ${version}; this release reads ${FORMAT_VERSION}.`);
    }
    return {
      segment: copy.readUIntLE(6, 6),
      previous: copy.readUIntLE(12, 6),
      createdMs: copy.readUIntLE(18, 6),
      seed: copy.readUInt32LE(24),
    };
  }
  return undefined;
}

/** Puts a record into the buffer, its checksum left open until `sealRecords`; returns where it ends. */
export function putRecord(target: Buffer, at: number, payload: Uint8Array): number {
  target.writeUInt32LE(payload.length, at + 4);
  target.set(payload, at + RECORD_OVERHEAD_BYTES);
  return at + RECORD_OVERHEAD_BYTES + payload.length;
}

/** Completes the records in [from, end) for a segment; may be repeated for another one. */
export function sealRecords(buffer: Buffer, from: number, end: number, seed: number): void {
  for (let at = from; at < end; ) {
    const length = buffer.readUInt32LE(at + 4) & MAX_PAYLOAD_BYTES;
    const next = at + RECORD_OVERHEAD_BYTES + length;
    buffer[at + 7] = lengthCheck(length, seed);
    buffer.writeUInt32LE(crc32(buffer.subarray(at + 4, next), seed), at);
    at = next;
  }
}

/** The end of the last record in [from, end) that is complete, and how many there are. */
export function wholeRecords(buffer: Buffer, from: number, end: number): { end: number; count: number } {
  let at = from;
  let count = 0;
  while (at + RECORD_OVERHEAD_BYTES <= end) {
    const next = at + RECORD_OVERHEAD_BYTES + (buffer.readUInt32LE(at + 4) & MAX_PAYLOAD_BYTES);
    if (next > end) break;
    at = next;
    count += 1;
  }
  return { end: at, count };
}

/** Any single flipped bit of the length shows here. */
function lengthCheck(length: number, seed: number): number {
  return (length ^ (length >>> 8) ^ (length >>> 16) ^ seed) & 0xff;
}

export const INVALID = 0;

/** Where the record at `at` ends; INVALID; or, when it goes on past the buffer, minus the bytes it needs. */
export function checkRecord(buffer: Buffer, at: number, seed: number): number {
  if (at + RECORD_OVERHEAD_BYTES > buffer.length) return -RECORD_OVERHEAD_BYTES;
  const word = buffer.readUInt32LE(at + 4);
  const length = word & MAX_PAYLOAD_BYTES;
  if (word >>> 24 !== lengthCheck(length, seed)) return INVALID;
  const end = at + RECORD_OVERHEAD_BYTES + length;
  if (end > buffer.length) return -(RECORD_OVERHEAD_BYTES + length);
  return crc32(buffer.subarray(at + 4, end), seed) === buffer.readUInt32LE(at) ? end : INVALID;
}

/** Bytes that searches in one segment may still checksum; keeps a hostile or ruined file from costing hours. */
export interface SearchBudget {
  bytes: number;
}

/** The first good record at or after `from`, or the buffer's length when there is none. */
export function findRecord(buffer: Buffer, from: number, seed: number, budget: SearchBudget): number {
  for (let at = from; at + RECORD_OVERHEAD_BYTES <= buffer.length; at++) {
    const word = buffer.readUInt32LE(at + 4);
    const length = word & MAX_PAYLOAD_BYTES;
    const fits = at + RECORD_OVERHEAD_BYTES + length <= buffer.length;
    if (!fits || word >>> 24 !== lengthCheck(length, seed)) continue;
    budget.bytes -= length;
    if (budget.bytes < 0) break;
    if (checkRecord(buffer, at, seed) > 0) return at;
  }
  return buffer.length;
}
