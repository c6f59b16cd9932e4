// The commands that work on the stores: a running server runs them on request, and the command line by
// itself where there is none.
import { type Command, type Context, command } from './command.ts';
import { demoCommands } from './demo-commands.ts';
import { dumpCommands } from './dump-commands.ts';
import { eventCommands } from './event-commands.ts';
import { keyCommands } from './key-commands.ts';
import type { StoreReport } from './store-report.ts';
import { readVersion } from './version.ts';
import { webhookCommands } from './webhook-commands.ts';
import { workspaceCommands } from './workspace-commands.ts';

export interface ServerStatus {
  readonly pid: number;
  readonly version: string;
  readonly host: string;
  /** As configured: 0 stands for any. */
  readonly port: number;
  readonly store: StoreReport;
}

/** What a running server knows of itself. */
export const statusCommand: Command = command({
  path: ['status'],
  summary: 'What the running server knows of itself',
  isInternal: true,
  run: async ({ app }: Context): Promise<ServerStatus> => {
    const { reportStore } = await import('./store-report.ts');
    const { host, port } = app.config;
    return {
      pid: process.pid,
      version: readVersion(),
      host,
      port,
      store: await reportStore(app.db, app.clock),
    };
  },
});

export const COMMANDS: readonly Command[] = [
  ...workspaceCommands,
  ...keyCommands,
  ...webhookCommands,
  ...dumpCommands,
  ...demoCommands,
  ...eventCommands,
  statusCommand,
];
