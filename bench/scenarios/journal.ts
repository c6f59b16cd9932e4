// What the journal costs: a redirect that writes a record before its answer against one that writes nothing,
// and how many records per second the journal takes from 64 callers.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openFileJournal } from '../../server/src/events/file-journal.ts';
import { openJournalDirectory } from '../../server/src/events/journal-files.ts';
import { systemClock } from '../../server/src/kernel/clock.ts';
import { silentLog } from '../../server/src/kernel/log.ts';
import { startBaseline } from '../baseline.ts';
import { compareLoads } from '../compare.ts';
import type { Line, Scenario, ScenarioContext } from '../scenario.ts';

const CALLERS = 64;
const RECORD_BYTES = 300;

export const journal: Scenario = {
  name: 'journal',
  title: 'redirect with a journal record before each answer, against one without',
  bar: { atLeast: 0.95 },
  async run(context) {
    const path = await mkdtemp(join(tmpdir(), 'linktrail-bench-'));
    try {
      return [
        await compareServers(this, join(path, 'server'), context),
        await countAppends(join(path, 'appends'), context),
      ];
    } finally {
      await rm(path, { recursive: true });
    }
  },
};

async function compareServers(
  { name, title, bar }: Scenario,
  path: string,
  { seconds, rounds }: ScenarioContext,
): Promise<Line> {
  const [bare, ours] = [await startBaseline('redirect'), await startJournalServer(path)];
  try {
    const load = { requests: new URL('../requests/visit.ts', import.meta.url), expect: [302], seconds };
    const result = await compareLoads({ ...load, port: ours.port }, { ...load, port: bare.port }, rounds);
    const { p50Ms, p99Ms } = result.ours;
    return {
      name,
      what: title,
      ours: result.ours.requestsPerSecond,
      baseline: result.baseline.requestsPerSecond,
      unit: 'req/s',
      ratio: result.ratio,
      ...(bar && { bar }),
      p50Ms,
      p99Ms,
    };
  } finally {
    await Promise.all([bare.close(), ours.close()]);
  }
}

async function startJournalServer(path: string) {
  const server = fork(fileURLToPath(import.meta.resolve('../journal-server.ts')), [path]);
  const ended = once(server, 'exit');
  const message = await Promise.race([once(server, 'message'), ended.then(() => undefined)]);
  if (!message) throw new Error('the server with a journal did not start');
  return {
    port: (message[0] as { port: number }).port,
    async close() {
      server.kill('SIGKILL');
      await ended;
    },
  };
}

/** Each caller waits for its record before it sends the next, as a connection does. */
async function countAppends(path: string, { seconds }: ScenarioContext): Promise<Line> {
  const directory = await openJournalDirectory(path);
  const log = await openFileJournal({ directory, clock: systemClock, log: silentLog });
  const record = Buffer.alloc(RECORD_BYTES, 'visit ');
  const endMs = performance.now() + Math.min(seconds, 2) * 1_000;
  const startMs = performance.now();
  let appended = 0;
  const caller = async () => {
    while (performance.now() < endMs) {
      if (await log.append(record)) appended += 1;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const ours = (appended / (performance.now() - startMs)) * 1_000;
  await log.close();
  return {
    name: 'journal',
    what: `records of ${RECORD_BYTES} bytes from ${CALLERS} callers`,
    ours,
    unit: 'records/s',
  };
}
