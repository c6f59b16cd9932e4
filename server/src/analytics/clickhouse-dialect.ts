// What differs on ClickHouse in the SQL of analytics. Tables whose rows have several states are read with `final`:
// each row once, in its latest.
import { placeholder } from './clickhouse-engine.ts';
import type { Dialect } from './dialect.ts';
import { DECIMAL } from './metadata.ts';

export const CLICKHOUSE: Dialect = {
  // A click is stored once and never changes.
  table: (name) => (name === 'click' ? name : `${name} final`),
  placeholder,
  divide: (number, by) => `intDiv(${number}, ${by})`,
  beforeQuery: (text) => `substringIndex(${text}, '?', 1)`,
  endsWith: (text, end) => `endsWith(${text}, ${end})`,
  hasAny: (list, texts) => `hasAny(${list}, [${texts.join(', ')}])`,
  eachOf: (list) => `arrayJoin(${list})`,
  textOf: (map, key) => `if(mapContains(${map}, ${key}), ${map}[${key}], null)`,
  numberOf: (text) =>
    `if(match(${text}, '${DECIMAL.replaceAll('\\', '\\\\')}'), toFloat64OrNull(${text}), null)`,
};
