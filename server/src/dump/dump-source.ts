// A dump as a source of records: reads its lines, makes sure that it is a dump of a version that can be read
// and that it is complete, and passes over what an interrupted run has taken already.
import { z } from 'zod';
import { AppError } from '../kernel/errors.ts';
import { sha256Hex } from '../kernel/ids.ts';
import { DUMP_VERSION, HEADER_TYPE, TRAILER_TYPE } from './export.ts';
import { type Batch, type InputLine, type Source, StaleProgress } from './import.ts';
import { readLines, type TextLine, UnreadableLine } from './lines.ts';

const LINES_PER_BATCH = 500;
const BYTES_PER_BATCH = 16 * 1024 * 1024;

const header = z.looseObject({ type: z.literal(HEADER_TYPE), version: z.int() });
const trailer = z.looseObject({ counts: z.record(z.string(), z.int()).optional() });
const savedState = z.object({ line: z.int(), hash: z.string(), counts: z.record(z.string(), z.int()) });

/** Reads the first line; the rest is read as the batches are asked for. */
export async function openDump(input: AsyncIterable<Uint8Array>): Promise<Source> {
  const reader = readLines(input);
  const lines = named(reader.lines());
  const first = (await lines.next()).value;
  assertHeader(first?.text ?? '');
  return {
    name: `dump ${sha256Hex(first?.text ?? '').slice(0, 32)}`,
    batches: (state) => batches({ lines, hash: reader.hash, from: state }),
  };
}

function assertHeader(text: string): void {
  const example = `{"type":"${HEADER_TYPE}","version":${DUMP_VERSION}}`;
  const result = header.safeParse(parseJson(text));
  if (!result.success)
    throw new AppError('unprocessable_entity', `This is not a dump: its first line must be like ${example}.`);
  if (result.data.version === DUMP_VERSION) return;
  throw new AppError(
    'unprocessable_entity',
    `The dump has version ${result.data.version}; this release reads version ${DUMP_VERSION}. Use the release that wrote it, or a later one.`,
  );
}

/** Lines that cannot be read, as an error for people. */
async function* named(lines: AsyncGenerator<TextLine>): AsyncGenerator<TextLine> {
  try {
    yield* lines;
  } catch (error) {
    if (!(error instanceof UnreadableLine)) throw error;
    throw new AppError('unprocessable_entity', `Line ${error.line} ${error.message}.`, { cause: error });
  }
}

interface Reading {
  readonly lines: AsyncGenerator<TextLine>;
  readonly hash: () => string;
  readonly from: unknown;
}

async function* batches({ lines, hash, from }: Reading): AsyncGenerator<Batch> {
  let { line: number, counts } = await passOver(lines, hash, from);
  let [waiting, size]: [InputLine[], number] = [[], 0];
  const batch = (): Batch => ({
    lines: waiting,
    state: { line: number, hash: hash(), counts: { ...counts } },
  });
  let end: InputLine | undefined;
  for await (const line of lines) {
    number = line.number;
    if (line.text.trim() === '') continue;
    if (end)
      throw new AppError('unprocessable_entity', `Line ${number} comes after the last line of the dump.`);
    const entry = parseLine(line);
    if (entry.type === TRAILER_TYPE) {
      end = entry;
      continue;
    }
    counts = { ...counts, [entry.type]: (counts[entry.type] ?? 0) + 1 };
    waiting.push(entry);
    size += line.sizeBytes;
    if (waiting.length < LINES_PER_BATCH && size < BYTES_PER_BATCH) continue;
    yield batch();
    [waiting, size] = [[], 0];
  }
  if (waiting.length > 0) yield batch();
  assertComplete(end, number, counts);
}

/** Reads what is in already; it must be the same as before. */
async function passOver(lines: AsyncGenerator<TextLine>, hash: () => string, from: unknown) {
  const saved = savedState.safeParse(from);
  if (!saved.success) return { line: 1, counts: {} as Record<string, number> };
  const { line, counts } = saved.data;
  let number = 1;
  while (number < line) {
    const next = await lines.next();
    if (next.done) break;
    number = next.value.number;
  }
  if (number === line && hash() === saved.data.hash) return { line, counts };
  throw new StaleProgress(
    `An import of this dump was interrupted after line ${line}, and the file is not the same up to there any more. Run the command again: it then starts from the first line.`,
  );
}

function parseLine({ number, text }: TextLine): InputLine {
  const parsed = parseJson(text);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    return { number, type: '', values: undefined, problem: 'is not a JSON object', text };
  }
  const { type, ...values } = parsed as Record<string, unknown>;
  return { number, type: typeof type === 'string' ? type : '', values, text };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function assertComplete(
  end: InputLine | undefined,
  lastLine: number,
  counts: Readonly<Record<string, number>>,
): void {
  if (!end) {
    throw new AppError(
      'unprocessable_entity',
      `The dump is cut off after line ${lastLine}: its last line, {"type":"${TRAILER_TYPE}"}, is missing. What it holds is in.`,
    );
  }
  const told = trailer.safeParse(end.values).data?.counts ?? counts;
  const wrong = [...new Set([...Object.keys(told), ...Object.keys(counts)])].find(
    (type) => (told[type] ?? 0) !== (counts[type] ?? 0),
  );
  if (wrong === undefined) return;
  throw new AppError(
    'unprocessable_entity',
    `The dump is not complete: its last line tells of ${told[wrong] ?? 0} lines of type ${wrong}, and there are ${counts[wrong] ?? 0}. What it holds is in.`,
  );
}
