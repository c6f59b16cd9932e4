// The help texts, made from the command values.
import { type Command, type Fields, isOptional } from './command.ts';

type AnyCommand = Pick<Command, 'path' | 'summary' | 'args' | 'options' | 'isInternal'>;

const WIDTH = 100;
const COMMON: readonly [string, string][] = [
  ['--json', 'Print the result as JSON.'],
  ['--help', 'Print this help.'],
];

/** All commands, or those that start with the given words. */
export function listHelp(commands: readonly AnyCommand[], words: readonly string[] = []): string {
  const shown = commands.filter(
    ({ path, isInternal }) => !isInternal && words.every((word, i) => path[i] === word),
  );
  const intro =
    words.length === 0 ? ['Linktrail: short links, conversions and analytics on your own server.', ''] : [];
  const general =
    words.length === 0 ? [['help [command]', 'Print help on all commands or on one'] as const] : [];
  return [
    ...intro,
    `Usage: linktrail ${[...words, '<command>'].join(' ')} [options]`,
    '',
    'Commands:',
    ...twoColumns([...shown.map((command) => [commandLine(command), command.summary] as const), ...general]),
    '',
    'Every command takes --help and, except serve, --json. Settings come from the environment and from .env,',
    'as for the server: see linktrail config.',
  ].join('\n');
}

export function commandHelp(command: AnyCommand): string {
  const args = Object.entries(command.args).map(([name, field]): [string, string] => [
    `<${name}>`,
    field.description,
  ]);
  const options = Object.entries(command.options).map(([name, field]): [string, string] => [
    optionWord(name, field.value),
    field.description,
  ]);
  return [
    `${command.summary}.`,
    '',
    usageLine(command),
    ...(args.length > 0 ? ['', 'Arguments:', ...twoColumns(args)] : []),
    '',
    'Options:',
    ...twoColumns([...options, ...COMMON]),
  ].join('\n');
}

/** The same for programs. */
export function describeCommands(commands: readonly AnyCommand[]) {
  const described = (fields: Fields) =>
    Object.entries(fields).map(([name, field]) => ({
      name,
      description: field.description,
      optional: isOptional(field),
    }));
  return commands
    .filter(({ isInternal }) => !isInternal)
    .map((command) => ({
      command: command.path.join(' '),
      summary: command.summary,
      usage: usageLine(command).replace('Usage: ', ''),
      arguments: described(command.args),
      options: described(command.options),
    }));
}

export function usageLine(command: AnyCommand): string {
  const options = Object.entries(command.options).map(([name, { value }]) => `[${optionWord(name, value)}]`);
  const line = `Usage: ${['linktrail', commandLine(command), ...options].join(' ')}`;
  return line.length <= WIDTH ? line : `Usage: linktrail ${commandLine(command)} [options]`;
}

function commandLine({ path, args }: { path: readonly string[]; args: Fields }): string {
  const words = Object.entries(args).map(([name, field]) => (isOptional(field) ? `[${name}]` : `<${name}>`));
  return [...path, ...words].join(' ');
}

function optionWord(name: string, value: string | undefined): string {
  return value === undefined ? `--${name}` : `--${name} <${value}>`;
}

function twoColumns(lines: readonly (readonly [string, string])[]): string[] {
  const left = Math.max(...lines.map(([word]) => word.length)) + 4;
  return lines.flatMap(([word, text]) =>
    wrap(text, WIDTH - left).map((line, i) => `${(i === 0 ? `  ${word}` : '').padEnd(left)}${line}`),
  );
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) as string;
    if (last !== '' && last.length + word.length + 1 > width) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
}
