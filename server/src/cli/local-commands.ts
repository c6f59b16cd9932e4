// The commands that run in the process of the command line, whether or not a server runs.
import { describeConfig, loadConfig } from '../config.ts';
import { printChecks } from './check.ts';
import { type Command, command } from './command.ts';
import { printable } from './table.ts';
import { readVersion } from './version.ts';

/** They need nothing from their caller. */
export type LocalContext = Readonly<Record<string, never>>;

/** Its output is the server's own: it is not a result that ends. */
export const SERVE: readonly string[] = ['serve'];

export const localCommands: readonly Command<LocalContext>[] = [
  command({
    path: SERVE,
    summary: 'Run the server',
    run: async (_context: LocalContext) => {
      const { startServer } = await import('../serve.ts');
      await startServer();
    },
  }),
  command({
    path: ['doctor'],
    summary: 'Check the configuration, the stores and the machine',
    run: async (_context: LocalContext) => {
      const { examine } = await import('./doctor.ts');
      const checks = await examine();
      return { ok: checks.every(({ state }) => state !== 'fail'), checks };
    },
    print: ({ checks }) => printChecks(checks),
    exitCode: ({ ok }) => (ok ? 0 : 1),
  }),
  command({
    path: ['config'],
    summary: 'Print the settings in effect and where they come from',
    run: async (_context: LocalContext) => ({ settings: describeConfig(loadConfig()) }),
    print: ({ settings }) => {
      const width = Math.max(...settings.map(({ variable }) => variable.length));
      return settings
        .map(
          ({ variable, value, set }) =>
            `${variable.padEnd(width)}  ${set ? 'environment' : 'default    '}  ${printable(value)}`,
        )
        .map((line) => line.trimEnd())
        .join('\n');
    },
  }),
  command({
    path: ['version'],
    summary: 'Print the version',
    run: async (_context: LocalContext) => ({ version: readVersion(), node: process.versions.node }),
    print: ({ version, node }) => `linktrail ${version} (Node ${node})`,
  }),
];
