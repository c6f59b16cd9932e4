// Bare `node:http` servers to measure against, each a process of its own.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** `echo` parses a JSON body and sends it back; `redirect` answers 302. */
export type BaselineKind = 'echo' | 'redirect';

export interface Baseline {
  port: number;
  pid: number;
  close(): Promise<void>;
}

export async function startBaseline(kind: BaselineKind): Promise<Baseline> {
  const server = fork(fileURLToPath(import.meta.resolve('./baseline-server.ts')), [kind]);
  const ended = once(server, 'exit');
  const message = await Promise.race([once(server, 'message'), ended.then(() => undefined)]);
  if (!message) throw new Error(`the baseline server (${kind}) did not start`);
  const { port } = message[0] as { port: number };
  return {
    port,
    pid: server.pid as number,
    async close() {
      server.kill('SIGKILL');
      await ended;
    },
  };
}
