// Filters by names that are stored with capitals.
import { type ListFilter, readListFilter } from '../kernel/list-filter.ts';

/** For names that are stored with capitals (`Mobile`, `Mac OS`, `iOS`) and that people write without. */
export function readNameFilter(text: string | undefined): ListFilter | undefined {
  const filter = readListFilter(text);
  return filter && { ...filter, values: [...new Set(filter.values.flatMap(spellings))] };
}

function spellings(name: string): string[] {
  const capitalised = name.replace(/(^|\s)\p{Ll}/gu, (start) => start.toUpperCase());
  return name.toLowerCase() === 'ios' ? [name, 'iOS'] : [name, capitalised];
}
