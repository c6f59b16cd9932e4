// What differs between engines in the SQL that sql.ts writes; all else is the same for all of them.
import { DECIMAL } from './metadata.ts';

export type TableName = 'click' | 'lead' | 'sale' | 'link' | 'partner';

export interface Dialect {
  /** The table as it is read: each row once, in its latest state. */
  table(name: TableName): string;
  /** Where the nth text goes, counted from 1. */
  placeholder(index: number): string;
  /** Of whole numbers that are not negative, rounded down. */
  divide(number: string, by: number): string;
  /** The text up to the first question mark. */
  beforeQuery(text: string): string;
  endsWith(text: string, end: string): string;
  /** Whether the list has at least one of the texts. */
  hasAny(list: string, texts: readonly string[]): string;
  /** One row for each item of the list. */
  eachOf(list: string): string;
  /** The text under that key of a map, null where there is none. */
  textOf(map: string, key: string): string;
  /** The number that a text is, null where it is none. */
  numberOf(text: string): string;
}

export const DUCKDB: Dialect = {
  table: (name) => name,
  placeholder: (index) => `$${index}`,
  divide: (number, by) => `${number} // ${by}`,
  beforeQuery: (text) => `split_part(${text}, '?', 1)`,
  endsWith: (text, end) => `ends_with(${text}, ${end})`,
  hasAny: (list, texts) => `list_has_any(${list}, [${texts.join(', ')}])`,
  eachOf: (list) => `unnest(${list})`,
  textOf: (map, key) => `${map}[${key}]`,
  numberOf: (text) => `case when regexp_matches(${text}, '${DECIMAL}') then try_cast(${text} as DOUBLE) end`,
};
