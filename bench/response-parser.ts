// Reads HTTP/1.1 answers from a keep-alive connection without pipelining: just enough to count them and to
// know where each one ends (Content-Length, chunked, or no body at all).

export interface Answer {
  status: number;
  /** The server will close the connection after this answer. */
  closes: boolean;
  /** The bytes as they came. */
  raw: Buffer;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');
const NO_BODY = new Set([204, 304]);

/** Feed it what arrives; it gives the answer once that is complete. Throws on what it cannot read. */
export function createResponseParser(): (data: Buffer) => Answer | undefined {
  let pending: Buffer = Buffer.alloc(0);
  return (data) => {
    pending = pending.length === 0 ? data : Buffer.concat([pending, data]);
    for (;;) {
      const found = parseAnswer(pending);
      if (!found) return undefined;
      const rest = pending.subarray(found.raw.length);
      pending = rest;
      // Informational answers come before the real one.
      if (found.status < 200) continue;
      if (rest.length > 0) throw new Error(`${rest.length} bytes after the end of an answer`);
      return found;
    }
  };
}

function parseAnswer(data: Buffer): Answer | undefined {
  const headEnd = data.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const head = data.toString('latin1', 0, headEnd);
  const status = Number(head.slice(9, 12));
  if (!head.startsWith('HTTP/1.') || !(status >= 100))
    throw new Error(`not an HTTP answer: ${head.slice(0, 80)}`);
  const end = findEnd(data, headEnd + HEAD_END.length, head, status);
  if (end === undefined || end > data.length) return undefined;
  return { status, closes: /\r\nconnection: *close/i.test(head), raw: data.subarray(0, end) };
}

function findEnd(data: Buffer, bodyStart: number, head: string, status: number): number | undefined {
  if (status < 200 || NO_BODY.has(status)) return bodyStart;
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length !== undefined) return bodyStart + Number(length);
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) return findChunkedEnd(data, bodyStart);
  throw new Error('an answer with neither a length nor chunks cannot be told from the next one');
}

function findChunkedEnd(data: Buffer, bodyStart: number): number | undefined {
  let at = bodyStart;
  for (;;) {
    const lineEnd = data.indexOf(LINE_END, at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(data.toString('latin1', at, lineEnd), 16);
    if (Number.isNaN(size)) throw new Error('a chunk without a size');
    if (size === 0) return findTrailerEnd(data, lineEnd);
    at = lineEnd + LINE_END.length + size + LINE_END.length;
    if (at > data.length) return undefined;
  }
}

/** From the line end after the last chunk's size: trailers, if any, end with an empty line. */
function findTrailerEnd(data: Buffer, from: number): number | undefined {
  const end = data.indexOf(HEAD_END, from);
  return end < 0 ? undefined : end + HEAD_END.length;
}
