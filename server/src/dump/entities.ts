// The types of lines of a dump, in the order in which they are written: what is referred to comes first. A
// new feature joins with one entry; a test finds tables that are neither here nor in LEFT_OUT.
import { accountEntities, membershipEntities } from './account-entities.ts';
import type { Entity } from './entity.ts';
import { type DumpFiles, fileEntity } from './file-entity.ts';
import { folderRoleEntity, type LinkEntityParts, linkEntity, sortingEntities } from './link-entities.ts';

export function createEntities(parts: LinkEntityParts & { readonly files: DumpFiles }): readonly Entity[] {
  return [
    fileEntity(parts.files),
    ...accountEntities(parts),
    ...sortingEntities(parts),
    ...membershipEntities(parts),
    folderRoleEntity(parts),
    linkEntity(parts),
  ];
}

/** Tables that no dump holds, and why. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  schema_migration: 'the shape of the database, which each instance has of its own',
  outbox: 'work under way: told within moments, and of no meaning elsewhere',
  job: 'when this instance does its own work next',
  idempotency: 'answers kept for repeats of requests to this instance',
  cleanup: 'work under way: what it is about to remove is left out of the dump',
  link_count: 'kept by the database itself as links come in',
  link_search_queue: 'work under way: what the index has still to take in',
  sink_offset: 'how far this instance has come with its own journal',
  import_progress: 'how far imports into this instance have come',
};

/** Columns that no dump holds, and why. */
export const LEFT_OUT_COLUMNS: Readonly<Record<string, string>> = {
  'domain.former_slug': 'work under way: links are written with the present name of their domain',
  'workspace.total_links': 'counted anew as links come in',
  'link.search_text': 'made by the database itself from other columns',
  'link.seq': 'the order of insertion, given anew',
};
