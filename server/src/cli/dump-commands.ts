// Moving in and out: an instance or a workspace as one file, and links from another service by its API.
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { ImportReport, ImportRequest, Source } from '../dump/import.ts';
import { describeProblem } from '../dump/record.ts';
import { AppError } from '../kernel/errors.ts';
import { type Command, type Context, command, type Field } from './command.ts';
import { workspaceArg } from './workspace-commands.ts';

const skipInvalid = {
  schema: z.string().min(1).optional(),
  value: 'file',
  stream: 'rows',
  description: 'Pass over lines that cannot be taken, and write them with the reason to this file.',
} satisfies Field;

export const dumpCommands: readonly Command[] = [
  command({
    path: ['export'],
    summary: 'Write everything, or one workspace, as lines of JSON',
    options: {
      workspace: {
        schema: z.string().min(1).optional(),
        value: 'workspace',
        description: 'Only this workspace: its id or its slug.',
      },
      out: {
        schema: z.string().min(1).default('-'),
        value: 'file',
        stream: 'out',
        description: 'Where to write; a name that ends in .gz is compressed (default: -, standard output).',
      },
    },
    run: async ({ app, signal, progress, data }: Context, { workspace }) => {
      const workspaceId =
        workspace === undefined ? undefined : (await app.services.workspaces.get(workspace)).id;
      return app.dump.export({ scope: { workspaceId }, signal, write: data, progress });
    },
    print: ({ lines, leftOut, missingFiles }) =>
      [
        `Exported ${counts(lines)}.`,
        leftOut > 0 ? `Left out ${leftOut} ${nameOf('record', leftOut)} that were being deleted.` : '',
        missingFiles > 0
          ? `${missingFiles} images are not in the data directory and are not in the dump.`
          : '',
      ]
        .filter(Boolean)
        .join('\n'),
  }),
  command({
    path: ['import'],
    summary: 'Bring in what an export wrote; repeat it to go on after an interruption',
    args: {
      file: {
        schema: z.string().min(1),
        stream: 'in',
        description: 'The file; - reads standard input, a name that ends in .gz is uncompressed.',
      },
    },
    options: { 'skip-invalid': skipInvalid },
    mayCreateData: true,
    run: async (context: Context, input) => {
      const { openDump } = await import('../dump/dump-source.ts');
      return run(context, await openDump(context.input), input['skip-invalid']);
    },
    print: describeReport,
    exitCode: ({ rejected }) => (rejected > 0 ? 1 : 0),
  }),
  command({
    path: ['import', 'dub'],
    summary: 'Bring in tags, folders, domains, links and customers from a service with the same API',
    options: {
      workspace: {
        ...workspaceArg,
        value: 'workspace',
        description: 'Where they go: the id or the slug of a workspace.',
      },
      token: {
        schema: z.string().min(1).optional(),
        value: 'key',
        description:
          'An API key of the other service. Other users of the machine can see it: see --token-file.',
      },
      'token-file': {
        schema: z.string().min(1).optional(),
        value: 'file',
        stream: 'in',
        description: 'The file that holds that key; - reads it from standard input.',
      },
      server: {
        schema: z
          .url({ protocol: /^https?$/, error: 'takes an address such as https://links.example.com/api' })
          .optional(),
        value: 'url',
        description: 'The address of its API (default: that of the hosted service).',
      },
      'skip-invalid': skipInvalid,
    },
    run: importFromDub,
    print: describeReport,
    exitCode: ({ rejected }) => (rejected > 0 ? 1 : 0),
  }),
];

interface DubInput {
  readonly workspace: string;
  readonly token: string | undefined;
  readonly 'token-file': string | undefined;
  readonly server: string | undefined;
  readonly 'skip-invalid': string | undefined;
}

async function importFromDub(context: Context, input: DubInput): Promise<ImportReport> {
  const { app, signal, progress } = context;
  const { openDubSource } = await import('../dump/dub-source.ts');
  const { id: workspaceId } = await app.services.workspaces.get(input.workspace);
  const { shared } = await app.services.domains.forLink(workspaceId, undefined);
  let done = 0;
  const source = openDubSource({
    token: await readToken(context, input),
    server: input.server,
    workspaceId,
    hasPrimaryDomain: !shared,
    wait: async (seconds) => {
      await progress({ done, unit: 'records', note: `waiting ${seconds} s, as the other service asks` });
      await sleep(seconds * 1_000, undefined, { signal });
    },
  });
  const counting: Context['progress'] = (state) => {
    done = state.done;
    return progress({ ...state, unit: 'records' });
  };
  return run({ ...context, progress: counting }, source, input['skip-invalid']);
}

const MAX_TOKEN_BYTES = 1_000;

async function readToken(
  { input: file }: Context,
  { token, 'token-file': named }: DubInput,
): Promise<string> {
  if ((token === undefined) === (named === undefined))
    throw new AppError('unprocessable_entity', 'Give either --token or --token-file.');
  if (token !== undefined) return token;
  const parts: Uint8Array[] = [];
  for await (const part of file) {
    parts.push(part);
    if (parts.reduce((bytes, { length }) => bytes + length, 0) > MAX_TOKEN_BYTES) break;
  }
  const text = Buffer.concat(parts).toString('utf8').trim();
  if (text !== '' && text.length <= MAX_TOKEN_BYTES && !/\s/.test(text)) return text;
  throw new AppError('unprocessable_entity', '--token-file: takes a file with nothing but the key in it.');
}

function run({ app, signal, progress, row }: Context, source: Source, skipInvalid: string | undefined) {
  const onRejected: ImportRequest['onRejected'] = (problem, { text, type, values }) =>
    row({
      ...problem,
      message: describeProblem(problem),
      text: text ?? JSON.stringify({ type, ...(values as object) }),
    });
  return app.dump.import({ source, signal, progress, ...(skipInvalid !== undefined && { onRejected }) });
}

function describeReport({ written, unchanged, rejected, resumed }: ImportReport): string {
  return [
    resumed ? 'Went on where the last run was interrupted.' : '',
    `Imported ${counts(written)}.`,
    Object.keys(unchanged).length > 0 ? `Unchanged: ${counts(unchanged)}.` : '',
    rejected > 0 ? `Passed over ${rejected} ${nameOf('line', rejected)} that could not be taken.` : '',
  ]
    .filter(Boolean)
    .join('\n');
}

function counts(byType: Readonly<Record<string, number>>): string {
  const parts = Object.entries(byType).map(
    ([type, count]) => `${count.toLocaleString('en-US')} ${nameOf(type, count)}`,
  );
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}

function nameOf(type: string, count: number): string {
  const words = type.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return count === 1 ? words : `${words}s`;
}
