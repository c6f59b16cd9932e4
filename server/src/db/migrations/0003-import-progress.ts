// How far imports have come.
import type { Migration } from '../migrate.ts';

export const importProgress: Migration = {
  id: 3,
  name: 'import-progress',
  up: ({ text, integer, tableEnd }) => [
    `create table import_progress (
      source ${text} primary key,
      state ${text} not null,
      updated_at ${integer} not null
    ) ${tableEnd}`,
  ],
};
