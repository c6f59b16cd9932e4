// The former name of a domain, for as long as links are still kept under it.
import type { Migration } from '../migrate.ts';

export const domainRenames: Migration = {
  id: 5,
  name: 'domain-renames',
  up: ({ text }) => [
    `alter table domain add column former_slug ${text}`,
    'create unique index domain_by_former_slug on domain (former_slug) where former_slug is not null',
  ],
};
