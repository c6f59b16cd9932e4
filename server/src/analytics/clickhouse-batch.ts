// Remembers, in a file beside the journal, which batch is being sent to a store that has no transactions. A batch
// whose fate is unknown after a crash or a failure is sent again with the same end, and so under the same name.
import { open, readFile, rename } from 'node:fs/promises';
import { formatPosition, type Position, parsePosition } from '../events/journal.ts';

export interface BatchFile {
  /** Where the batch ends that was begun after this position and may be stored, or stored in part. */
  findBegun(after: Position | undefined): Promise<Position | undefined>;
  /** Safe on disk when it returns. */
  begin(after: Position | undefined, upTo: Position): Promise<void>;
}

interface Begun {
  readonly after: string;
  readonly upTo: string;
}

export function createBatchFile(path: string): BatchFile {
  return {
    async findBegun(after) {
      const begun = await read(path);
      return begun?.after === nameOf(after) ? parsePosition(begun.upTo) : undefined;
    },
    async begin(after, upTo) {
      const begun: Begun = { after: nameOf(after), upTo: formatPosition(upTo) };
      const file = await open(`${path}.new`, 'w', 0o600);
      try {
        await file.writeFile(JSON.stringify(begun));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(`${path}.new`, path);
    },
  };
}

/** The batch from one place to another of a journal, by which a store knows it again. */
export function batchName(journal: string, after: Position | undefined, upTo: Position): string {
  return `${journal}/${nameOf(after)}-${formatPosition(upTo)}`;
}

function nameOf(position: Position | undefined): string {
  return position ? formatPosition(position) : 'start';
}

async function read(path: string): Promise<Begun | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return text === undefined ? undefined : (JSON.parse(text) as Begun);
}
