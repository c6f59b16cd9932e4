// From the words of a command line to a command and its input. Pure: it neither prints nor exits.
import { parseArgs } from 'node:util';
import { AppError } from '../kernel/errors.ts';
import { type Command, isOptional, readInput } from './command.ts';
import { usageLine } from './help.ts';

type AnyCommand = Pick<Command, 'path' | 'summary' | 'args' | 'options' | 'isInternal'>;

/** A command line that cannot be understood; the text says why and how it should read. */
export class UsageError extends Error {
  override name = 'UsageError';
  readonly usage: string;

  constructor(message: string, usage = 'Usage: linktrail <command> [options]. See linktrail help.') {
    super(message);
    this.usage = usage;
  }
}

export type CommandLine<C> =
  | { readonly kind: 'help'; readonly words: readonly string[]; readonly command: C | undefined }
  | { readonly kind: 'run'; readonly command: C; readonly input: Readonly<Record<string, unknown>> };

const ALIASES: Readonly<Record<string, string>> = { '--version': 'version', '-v': 'version' };
const COMMON_OPTIONS = { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } as const;

export function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end < 0 ? undefined : end).includes('--json');
}

export function parseCommandLine<C extends AnyCommand>(
  argv: readonly string[],
  commands: readonly C[],
): CommandLine<C> {
  const ahead = argv.findIndex((word) => !['--json', '--help', '-h'].includes(word));
  const words =
    ahead < 0 ? [] : argv.slice(ahead).map((word, i) => (i === 0 ? (ALIASES[word] ?? word) : word));
  const askedForHelp = argv.slice(0, ahead < 0 ? undefined : ahead).some((word) => word !== '--json');
  if (words.length === 0) return { kind: 'help', words: [], command: undefined };
  if (words[0] === 'help') {
    return parseCommandLine(['--help', ...words.slice(1).filter((word) => !word.startsWith('-'))], commands);
  }
  const command = findCommand(words, commands);
  if (!command) return groupHelp(words, commands, askedForHelp);
  if (askedForHelp) return { kind: 'help', words: command.path, command };
  const { values, positionals } = readWords(words.slice(command.path.length), command);
  const { json: _, help, ...options } = values;
  if (help) return { kind: 'help', words: command.path, command };
  const input = { ...options, ...named(positionals, command) };
  try {
    readInput(command, input);
  } catch (error) {
    throw error instanceof AppError ? new UsageError(error.message, usageLine(command)) : error;
  }
  return { kind: 'run', command, input };
}

/** The command whose words stand first; with several, the longest. */
function findCommand<C extends AnyCommand>(words: readonly string[], commands: readonly C[]): C | undefined {
  return commands
    .filter(({ path }) => path.every((word, i) => words[i] === word))
    .sort((a, b) => b.path.length - a.path.length)[0];
}

/** `linktrail workspace --help`: the words name a group of commands, or nothing. */
function groupHelp<C extends AnyCommand>(
  words: readonly string[],
  commands: readonly C[],
  asked: boolean,
): CommandLine<C> {
  const [first = '', ...rest] = words;
  if (first.startsWith('-')) throw new UsageError(`There is no option ${first}.`);
  const group = commands.filter(
    ({ path, isInternal }) => !isInternal && path.length > 1 && path[0] === first,
  );
  if (group.length === 0) throw new UsageError(`There is no command ${first}.`);
  if (asked || rest.some((word) => ['--help', '-h'].includes(word))) {
    return { kind: 'help', words: [first], command: undefined };
  }
  const known = group.map(({ path }) => path.slice(1).join(' ')).join(', ');
  const second = rest.find((word) => !word.startsWith('-'));
  const problem =
    second === undefined ? `${first} needs a command` : `There is no command ${first} ${second}`;
  throw new UsageError(`${problem}: there are ${known}.`, `Usage: linktrail ${first} <command>`);
}

function readWords(words: readonly string[], command: AnyCommand) {
  const options = Object.entries(command.options).map(([name, { value }]) => [
    name,
    { type: value === undefined ? 'boolean' : 'string' } as const,
  ]);
  try {
    return parseArgs({
      args: [...words],
      options: {
        ...(Object.fromEntries(options) as Record<string, { type: 'boolean' | 'string' }>),
        ...COMMON_OPTIONS,
      },
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // The first sentence says what is wrong; the rest is advice for programmers.
    throw new UsageError(`${error.message.split(/\.\s|\n/)[0]}.`.replace(/\.\.$/, '.'), usageLine(command));
  }
}

function named(positionals: readonly string[], command: AnyCommand): Record<string, string> {
  const fields = Object.entries(command.args);
  const missing = fields.slice(positionals.length).find(([, field]) => !isOptional(field));
  if (missing) throw new UsageError(`${command.path.join(' ')} needs <${missing[0]}>.`, usageLine(command));
  const extra = positionals[fields.length];
  if (extra !== undefined) throw new UsageError(`"${extra}" is one argument too many.`, usageLine(command));
  return Object.fromEntries(positionals.map((text, i) => [fields[i]?.[0], text]));
}
