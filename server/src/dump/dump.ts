// Moves everything an instance holds, or one workspace of it, out as one stream of lines and in again: every
// id, key, date, counter and state as it is.
import type { Database } from '../db/database.ts';
import type { Ids } from '../kernel/ids.ts';
import type { ClickEntityParts } from './click-entity.ts';
import { createEntities } from './entities.ts';
import { createExport, type ExportReport, type ExportRequest } from './export.ts';
import type { DumpFiles } from './file-entity.ts';
import { createImport, type ImportReport, type ImportRequest } from './import.ts';
import type { LinkEntityParts } from './link-entities.ts';
import { createProgressStore } from './progress.store.ts';

export interface DumpParts extends LinkEntityParts, ClickEntityParts {
  readonly db: Database;
  readonly files: DumpFiles;
  readonly flushEvents: () => Promise<void>;
  readonly ids: Ids;
}

export interface Dump {
  export(request: ExportRequest): Promise<ExportReport>;
  /** Repeating it changes nothing; after an interruption a repeat goes on where it stopped. */
  import(request: ImportRequest): Promise<ImportReport>;
}

export function createDump(parts: DumpParts): Dump {
  const entities = createEntities(parts);
  return {
    export: createExport({ ...parts, entities }),
    import: createImport({ ...parts, entities, store: createProgressStore(parts.db) }),
  };
}
