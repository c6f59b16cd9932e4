// Filters as one text: `a`, `a,b` for any of them, `-a,b` for none of them. Only a minus at the very beginning
// excludes, and there is no way to write a comma inside a value.
import type { Filter } from './query.ts';

/** Undefined when the text names nothing to filter by. */
export function readFilter(text: string | undefined): Filter | undefined {
  if (text === undefined) return undefined;
  const not = text.startsWith('-');
  const items = (not ? text.slice(1) : text).split(',').filter((item) => item !== '');
  return items.length === 0 ? undefined : { not, values: [...new Set(items)] };
}

/** For names that are stored with capitals (`Mobile`, `Mac OS`, `iOS`) and that people write without. */
export function readNameFilter(text: string | undefined): Filter | undefined {
  const filter = readFilter(text);
  return filter && { ...filter, values: [...new Set(filter.values.flatMap(spellings))] };
}

function spellings(name: string): string[] {
  const capitalised = name.replace(/(^|\s)\p{Ll}/gu, (start) => start.toUpperCase());
  return name.toLowerCase() === 'ios' ? [name, 'iOS'] : [name, capitalised];
}
