// The language of the parameter `query`: metadata['plan']:'pro' AND (metadata['seats'] >= 5 OR metadata['a']['b'] != x).
// AND binds tighter than OR. What cannot be read is refused with the place where reading stopped.
import { invalid } from '../kernel/errors.ts';
import type { MetadataComparison, MetadataCondition } from './query.ts';

const MAX_DEPTH = 50;
const HINT_LENGTH = 24;
const QUOTES = `'"\``;
const OPERATORS: Readonly<Record<string, MetadataComparison['operator']>> = {
  ':': '=',
  '=': '=',
  '==': '=',
  '!=': '!=',
  '>': '>',
  '<': '<',
  '>=': '>=',
  '<=': '<=',
};
/** A word that joins conditions, as a word of its own. */
const JOINER = /\b(AND|OR)(?=[\s(])/iy;
/** Where a value without quotes ends. */
const VALUE_END = /\s(?:AND|OR)(?=[\s(])|\)|$/giu;

/** Undefined for a text without anything in it. */
export function parseMetadataQuery(text: string): MetadataCondition | undefined {
  if (text.trim() === '') return undefined;
  const cursor: Cursor = { text, at: 0 };
  const condition = readAlternatives(cursor, 0);
  skipSpace(cursor);
  if (cursor.at < text.length) throw refusal(cursor, 'AND, OR or the end was expected');
  return condition;
}

interface Cursor {
  readonly text: string;
  at: number;
}

function readAlternatives(cursor: Cursor, depth: number): MetadataCondition {
  return readJoined(cursor, 'or', () => readJoined(cursor, 'and', () => readUnit(cursor, depth)));
}

function readJoined(cursor: Cursor, op: 'and' | 'or', readPart: () => MetadataCondition): MetadataCondition {
  const parts = [readPart()];
  while (takeJoiner(cursor, op)) parts.push(readPart());
  return parts.length === 1 ? (parts[0] as MetadataCondition) : { op, parts };
}

function takeJoiner(cursor: Cursor, op: 'and' | 'or'): boolean {
  skipSpace(cursor);
  JOINER.lastIndex = cursor.at;
  const found = JOINER.exec(cursor.text)?.[1];
  if (found?.toLowerCase() !== op) return false;
  cursor.at += found.length;
  return true;
}

function readUnit(cursor: Cursor, depth: number): MetadataCondition {
  skipSpace(cursor);
  if (cursor.text[cursor.at] !== '(') return readComparison(cursor);
  if (depth >= MAX_DEPTH) throw refusal(cursor, `at most ${MAX_DEPTH} parentheses may be in each other`);
  cursor.at += 1;
  const inner = readAlternatives(cursor, depth + 1);
  skipSpace(cursor);
  if (cursor.text[cursor.at] !== ')') throw refusal(cursor, 'AND, OR or ) was expected');
  cursor.at += 1;
  return inner;
}

function readComparison(cursor: Cursor): MetadataComparison {
  return { path: readPath(cursor), operator: readOperator(cursor), value: readValue(cursor) };
}

function readPath(cursor: Cursor): string[] {
  if (!cursor.text.startsWith('metadata', cursor.at)) throw refusal(cursor, "metadata['key'] was expected");
  cursor.at += 'metadata'.length;
  const path: string[] = [];
  for (skipSpace(cursor); cursor.text[cursor.at] === '['; skipSpace(cursor)) {
    cursor.at += 1;
    skipSpace(cursor);
    if (!isQuote(cursor.text[cursor.at])) throw refusal(cursor, 'a key in quotes was expected');
    path.push(readQuoted(cursor));
    skipSpace(cursor);
    if (cursor.text[cursor.at] !== ']') throw refusal(cursor, '] was expected');
    cursor.at += 1;
  }
  if (path.length === 0) throw refusal(cursor, "a key such as ['plan'] was expected");
  return path;
}

function readOperator(cursor: Cursor): MetadataComparison['operator'] {
  skipSpace(cursor);
  const run = /^[:=!<>]*/.exec(cursor.text.slice(cursor.at, cursor.at + 8))?.[0] ?? '';
  const operator = Object.hasOwn(OPERATORS, run) ? OPERATORS[run] : undefined;
  if (!operator) throw refusal(cursor, 'one of : = != > < >= <= was expected');
  cursor.at += run.length;
  return operator;
}

function readValue(cursor: Cursor): string {
  VALUE_END.lastIndex = cursor.at;
  skipSpace(cursor);
  if (isQuote(cursor.text[cursor.at])) return readQuoted(cursor);
  const end = VALUE_END.exec(cursor.text)?.index ?? cursor.text.length;
  const value = cursor.text.slice(cursor.at, end).trim();
  if (value === '') throw refusal(cursor, 'a value was expected');
  cursor.at = end;
  return value;
}

/** The same quote twice stands for itself, so that a value can hold anything. */
function readQuoted(cursor: Cursor): string {
  const start = cursor.at;
  const quote = cursor.text[start] as string;
  let value = '';
  for (let from = start + 1; ; ) {
    const end = cursor.text.indexOf(quote, from);
    if (end === -1) throw refusal({ ...cursor, at: start }, `the closing ${quote} is missing`);
    value += cursor.text.slice(from, end);
    if (cursor.text[end + 1] !== quote) {
      cursor.at = end + 1;
      return value;
    }
    value += quote;
    from = end + 2;
  }
}

function isQuote(character: string | undefined): boolean {
  return character !== undefined && QUOTES.includes(character);
}

function skipSpace(cursor: Cursor): void {
  while (/\s/.test(cursor.text[cursor.at] ?? '')) cursor.at += 1;
}

/** Shows the place in the middle of what is around it. */
function refusal({ text, at }: Cursor, problem: string) {
  const before = text.slice(Math.max(0, at - HINT_LENGTH), at);
  const after = text.slice(at, at + HINT_LENGTH);
  const hint = `${at > HINT_LENGTH ? '…' : ''}${before}^${after}${at + HINT_LENGTH < text.length ? '…' : ''}`;
  return invalid('query', `${problem} at character ${at + 1}, marked ^ here: ${hint}`);
}
