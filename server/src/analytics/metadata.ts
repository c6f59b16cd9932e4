// What can be compared in the metadata of a lead or sale: the texts of its texts, numbers and booleans, each under
// its path. Engines keep them as a map beside the JSON, so that all of them find the same without reading JSON.
import type { MetadataComparison, MetadataCondition } from './query.ts';

/** The path in the form of a JSON pointer: any key can be part of it, and no two paths are the same. */
export function metadataKey(path: readonly string[]): string {
  return path.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

export function metadataTexts(metadata: string): Map<string, string> {
  const texts = new Map<string, string>();
  if (metadata !== '') collect(parse(metadata), [], texts);
  return texts;
}

function collect(value: unknown, path: readonly string[], into: Map<string, string>): void {
  if (typeof value === 'object') {
    if (value === null || Array.isArray(value)) return;
    for (const [key, inner] of Object.entries(value)) collect(inner, [...path, key], into);
  } else if (path.length > 0) into.set(metadataKey(path), String(value));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** What counts as a number on either side of `<` and its kin; a regular expression that engines understand too. */
export const DECIMAL = '^-?[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]+)?$';
const IS_DECIMAL = new RegExp(DECIMAL);

export function readDecimal(text: string): number | undefined {
  return IS_DECIMAL.test(text) ? Number(text) : undefined;
}

export function matchesMetadata(condition: MetadataCondition, texts: ReadonlyMap<string, string>): boolean {
  if (!('op' in condition)) return compares(condition, texts.get(metadataKey(condition.path)));
  const holds = (part: MetadataCondition) => matchesMetadata(part, texts);
  return condition.op === 'and' ? condition.parts.every(holds) : condition.parts.some(holds);
}

function compares({ operator, value }: MetadataComparison, text: string | undefined): boolean {
  if (operator === '=') return text === value;
  if (operator === '!=') return text !== value;
  const left = text === undefined ? undefined : readDecimal(text);
  const right = readDecimal(value);
  if (left === undefined || right === undefined) return false;
  if (operator === '>') return left > right;
  if (operator === '<') return left < right;
  return operator === '>=' ? left >= right : left <= right;
}
