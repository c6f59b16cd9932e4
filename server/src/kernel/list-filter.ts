// Filters as one text: `a`, `a,b` for any of them, `-a,b` for none of them. Only a minus at the very beginning
// excludes, and there is no way to write a comma inside a value.

export interface ListFilter {
  readonly not: boolean;
  /** Never empty. */
  readonly values: readonly string[];
}

/** Undefined when the text names nothing to filter by. */
export function readListFilter(text: string | undefined): ListFilter | undefined {
  if (text === undefined) return undefined;
  const not = text.startsWith('-');
  const items = (not ? text.slice(1) : text).split(',').filter((item) => item !== '');
  return items.length === 0 ? undefined : { not, values: [...new Set(items)] };
}
