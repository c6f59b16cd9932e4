// The images that an instance keeps itself, as lines of a dump: name and content. They have no pass of their
// own: an image goes right before the first row that shows it, so that none is left behind and none is
// dragged along.
import { z } from 'zod';
import { AppError } from '../kernel/errors.ts';
import { sha256Hex } from '../kernel/ids.ts';
import type { Entity } from './entity.ts';
import { type FileAddresses, fileName } from './field.ts';
import { RejectedLines } from './record.ts';

export interface DumpFiles extends FileAddresses {
  findContent(url: string): Promise<Uint8Array | undefined>;
  /** The mark is that of an image that is one owner's alone. */
  saveImage(dataUrl: string, field: string, mark?: string): Promise<string>;
  /** Whoever gets it must read or cancel its body. */
  find(name: string): Promise<{ readonly body: { cancel(): Promise<void> } } | undefined>;
}

const NAME = 'file';

export function fileEntity(files: DumpFiles): Entity {
  return {
    name: NAME,
    tables: [],
    columns: [],
    schema: z.strictObject({ name: z.string().max(100), content: z.base64() }),
    references: [],
    imageColumns: [],
    present: ({ name, content }) => ({ name, content }),
    async write(items) {
      let written = 0;
      for (const { line, row } of items) {
        const file = row as { name: string; content: string };
        if (await exists(files, file.name)) continue;
        written += 1;
        await save(files, file).catch((error: unknown) => {
          if (!(error instanceof AppError)) throw error;
          const reason = error.message.replace(/^custom: content: /, '');
          throw new RejectedLines([{ line, type: NAME, field: 'content', reason }]);
        });
      }
      return { written, unchanged: items.length - written };
    },
  };
}

/** Whether a file of this name is kept: its name begins with the hash of its content, so that it is the same. */
export async function exists(files: Pick<DumpFiles, 'find'>, name: string): Promise<boolean> {
  const file = await files.find(name);
  await file?.body.cancel();
  return file !== undefined;
}

async function save(files: DumpFiles, { name, content }: { name: string; content: string }): Promise<void> {
  const hash = sha256Hex(Buffer.from(content, 'base64'));
  const [start = '', mark] = name.slice(0, name.lastIndexOf('.')).split('-');
  if (files.addressOf(name) === undefined || start !== hash) {
    throw new AppError('unprocessable_entity', `is not what the name ${name} was given for`);
  }
  const saved = fileName(await files.saveImage(`data:image/png;base64,${content}`, 'content', mark));
  if (saved !== name) throw new AppError('unprocessable_entity', `is an image named ${saved}, not ${name}`);
}
