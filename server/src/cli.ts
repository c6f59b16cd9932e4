// The command `linktrail`: reads the command line, runs the command in the running server or, where there
// is none, by itself, and prints the result. Exit codes: 0 done, 1 failed, 2 not understood.
import { existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import type { Command, Context, Row } from './cli/command.ts';
import { type CommandLine, parseCommandLine, UsageError, wantsJson } from './cli/command-line.ts';
import { COMMANDS } from './cli/commands.ts';
import { connectControl, describeFailure } from './cli/control.ts';
import { commandHelp, describeCommands, listHelp } from './cli/help.ts';
import { type LocalContext, localCommands, SERVE } from './cli/local-commands.ts';
import { createOutput, type Output } from './cli/output.ts';
import { openStreams, type Streams } from './cli/streams.ts';
import { type Config, loadConfig } from './config.ts';
import { AppError } from './kernel/errors.ts';

const INTERRUPTED = 130;

/** The same face for both kinds: the runner fills in what the command's own kind needs. */
type AnyCommand = Omit<Command, 'run'> & {
  readonly run: (input: unknown, output: Output, streams: Streams) => Promise<unknown>;
};

const ALL: readonly AnyCommand[] = [
  ...localCommands.map(
    (command): AnyCommand => ({ ...command, run: (input) => command.run({} as LocalContext, input) }),
  ),
  ...COMMANDS.map(
    (command): AnyCommand => ({
      ...command,
      run: (input, output, streams) => runOnStores(command, input, output, streams),
    }),
  ),
];

const stop = new AbortController();

/** The exit code; undefined while the server runs. */
async function main(argv: readonly string[]): Promise<number | undefined> {
  const json = wantsJson(argv);
  let output = createOutput({ json });
  try {
    const line = parseCommandLine(argv, ALL);
    if (line.kind === 'help') return await printHelp(line, output);
    if (json && line.command.path === SERVE) throw new UsageError('serve has no --json.');
    const streams = openStreams(line.command, line.input);
    const { takesStdout: isStdoutTaken, fraction } = streams;
    output = createOutput({ json, columns: line.command.columns, isStdoutTaken, fraction });
    const result = await runWith(streams, line, output);
    if (line.command.path === SERVE) return undefined;
    await output.end(result, line.command.print(result));
    return line.command.exitCode(result);
  } catch (error) {
    if (error instanceof UsageError) {
      await output.error({ code: 'usage', message: error.message }, error.usage);
      return 2;
    }
    await output.error(
      stop.signal.aborted ? { code: 'interrupted', message: 'Stopped.' } : describeFailure(error),
    );
    return stop.signal.aborted ? INTERRUPTED : 1;
  }
}

async function runWith(
  streams: Streams,
  { command, input }: CommandLine<AnyCommand> & { kind: 'run' },
  output: Output,
): Promise<unknown> {
  try {
    const result = await command.run(input, output, streams);
    await streams.finish();
    return result;
  } catch (error) {
    await streams.abandon();
    throw error;
  }
}

async function printHelp(
  { words, command }: CommandLine<AnyCommand> & { kind: 'help' },
  output: Output,
): Promise<number> {
  const shown = command ? [command] : ALL.filter(({ path }) => words.every((word, i) => path[i] === word));
  await output.end(
    { commands: describeCommands(shown) },
    command ? commandHelp(command) : listHelp(ALL, words),
  );
  return 0;
}

async function runOnStores(
  command: Command,
  input: unknown,
  output: Output,
  streams: Streams,
): Promise<unknown> {
  // The first signal lets the command stop in good order, the second ends the process as usual.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  const config = loadConfig();
  const control = await connectControl(config.dataDir);
  const { data, upload, row = output.row } = streams;
  if (control) {
    return control.run(command, input, {
      ...output,
      row: (sent) => row(sent as Row),
      data,
      upload,
      signal: stop.signal,
    });
  }
  const progress: Context['progress'] = async (state) => output.progress(state);
  const context = { signal: stop.signal, row, progress, data, input: upload ?? Readable.from([]) };
  return runAlone(config, command, input, context);
}

async function runAlone(
  config: Config,
  command: Command,
  input: unknown,
  context: Omit<Context, 'app'>,
): Promise<unknown> {
  if (!command.mayCreateData && !config.databaseUrl && !existsSync(config.dataDir)) {
    throw new AppError(
      'not_found',
      `There is no data directory ${config.dataDir}. Start the server once, or set LINKTRAIL_DATA_DIR to where the data is.`,
    );
  }
  const { openApp, DataDirLockedError } = await import('./app.ts');
  const { createLog } = await import('./kernel/log.ts');
  const log = createLog(config.logLevel === 'info' || config.logLevel === 'debug' ? 'warn' : config.logLevel);
  const app = await openApp({ config, log }).catch((error: unknown) => {
    if (!(error instanceof DataDirLockedError)) throw error;
    throw new AppError('conflict', `${error.message} Wait until it is done, then try again.`, {
      cause: error,
    });
  });
  try {
    return await command.run({ ...context, app }, input);
  } finally {
    await app.close();
    log.flush();
  }
}

/** A reader that has seen enough (head, a pager) is not a failure. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

const code = await main(process.argv.slice(2));
// What is done must not wait for what a library left open.
if (code !== undefined) process.exit(code);
