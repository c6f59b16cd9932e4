// Lists and sums of commissions in a program that has a million of them: those of a type and those of a customer are
// found by an index of their own, and counts by state are read from the index of states alone.
import type { Migration } from '../migrate.ts';

export const commissionLists: Migration = {
  id: 12,
  name: 'commission lists',
  up: () => [
    'drop index commission_by_status',
    'create index commission_by_status on commission (program_id, status, created_at, id, earnings, amount)',
    'create index commission_by_type on commission (program_id, type, created_at, id)',
    'create index commission_by_customer on commission (program_id, customer_id, created_at, id) where customer_id is not null',
  ],
};
