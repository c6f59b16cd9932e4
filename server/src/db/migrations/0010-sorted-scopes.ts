// A domain or a folder sorted by clicks, sales or last click: its index says all that such a list goes by, so that
// links which are scattered over the table need not be read one by one.
import type { Migration } from '../migrate.ts';

const SORTED_BY = 'clicks, sale_amount, last_clicked_at';

export const sortedScopes: Migration = {
  id: 10,
  name: 'sorted scopes',
  up: () => [
    'drop index link_by_domain',
    'drop index link_by_folder',
    `create index link_by_domain on link (workspace_id, domain, archived, created_at, id, folder_id, ${SORTED_BY})`,
    `create index link_by_folder on link (workspace_id, folder_id, archived, created_at, id, domain, ${SORTED_BY})`,
  ],
};
