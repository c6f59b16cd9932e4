// A stream of bytes as lines of text, with bounded memory: what has too long a line, or is no UTF-8, is refused
// with the number of the line. Keeps a hash of all bytes so far, so that a repeat can be told from another file.
import { createHash, type Hash } from 'node:crypto';

/** An image of the largest size, in base64, and room for the rest of its line. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024;

const NEWLINE = 10;

export interface TextLine {
  /** Counts from 1. */
  readonly number: number;
  readonly text: string;
  readonly sizeBytes: number;
}

export class UnreadableLine extends Error {
  override name = 'UnreadableLine';
  readonly line: number;

  constructor(line: number, reason: string) {
    super(reason);
    this.line = line;
  }
}

export interface LineReader {
  lines(): AsyncGenerator<TextLine>;
  /** Of everything up to the end of the line that was read last. */
  hash(): string;
}

export function readLines(input: AsyncIterable<Uint8Array>, maxBytes = MAX_LINE_BYTES): LineReader {
  const seen: Hash = createHash('sha256');
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let number = 0;

  function toLine(bytes: Uint8Array): TextLine {
    number += 1;
    seen.update(bytes).update('\n');
    try {
      return { number, text: decoder.decode(bytes), sizeBytes: bytes.length + 1 };
    } catch {
      throw new UnreadableLine(number, 'is not text in UTF-8');
    }
  }

  async function* lines(): AsyncGenerator<TextLine> {
    let parts: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of input) {
      let start = 0;
      for (;;) {
        const end = chunk.indexOf(NEWLINE, start);
        const part = chunk.subarray(start, end < 0 ? undefined : end);
        size += part.length;
        if (size > maxBytes) throw new UnreadableLine(number + 1, `is longer than ${maxBytes} bytes`);
        parts.push(part);
        if (end < 0) break;
        yield toLine(parts.length === 1 ? part : Buffer.concat(parts));
        [parts, size, start] = [[], 0, end + 1];
      }
    }
    if (size > 0) yield toLine(Buffer.concat(parts));
  }

  return { lines, hash: () => seen.copy().digest('hex') };
}
