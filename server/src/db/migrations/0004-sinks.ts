// How far each sink that writes into this database has come with the journal.
import type { Migration } from '../migrate.ts';

export const sinks: Migration = {
  id: 4,
  name: 'sinks',
  up: ({ text, integer, tableEnd }) => [
    `create table sink_offset (
      name ${text} primary key,
      position ${text} not null,
      updated_at ${integer} not null
    ) ${tableEnd}`,
  ],
};
