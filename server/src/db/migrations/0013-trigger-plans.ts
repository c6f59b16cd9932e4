// On PostgreSQL the plans of triggers are kept for as long as a connection lasts. Made while the tables are small, as at
// the beginning of an import, they read the whole table of links for every statement: they are told to use its indexes.
import type { Migration } from '../migrate.ts';

const FUNCTIONS = ['link_recounted', 'link_tagged', 'link_untagged', 'link_deleted'];
const AVOIDED = ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin'];

export const triggerPlans: Migration = {
  id: 13,
  name: 'trigger plans',
  up: ({ engine }) =>
    engine === 'sqlite'
      ? []
      : FUNCTIONS.flatMap((name) => AVOIDED.map((way) => `alter function ${name}() set ${way} = off`)),
};
