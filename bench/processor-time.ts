// How much processor time a request takes in a server: of the thread that serves, and of all others of the process.
// Hardly touched by what else runs on the machine, unlike requests per second.
import { readdir, readFile } from 'node:fs/promises';
import { type Load, runLoad } from './load.ts';

export interface ProcessorTime {
  /** Of the main thread, a request. */
  readonly mainUs: number;
  readonly othersUs: number;
}

/** Linux only: `undefined` elsewhere. */
export async function measureProcessorTime(pid: number, load: Load): Promise<ProcessorTime | undefined> {
  const before = await readThreads(pid);
  // Without a warm-up every request that costs is also counted.
  const { requests } = await runLoad({ ...load, warmupSeconds: 0 });
  const after = await readThreads(pid);
  if (!before || !after) return undefined;
  let [main, others] = [0, 0];
  for (const [thread, ns] of after) {
    const used = (ns - (before.get(thread) ?? 0)) / requests / 1_000;
    if (thread === String(pid)) main += used;
    else others += used;
  }
  return { mainUs: main, othersUs: others };
}

/** Nanoseconds by thread. */
async function readThreads(pid: number): Promise<Map<string, number> | undefined> {
  const folder = `/proc/${pid}/task`;
  const threads = await readdir(folder).catch(() => undefined);
  if (!threads) return undefined;
  const times = new Map<string, number>();
  for (const thread of threads) {
    // One that ended meanwhile is left out.
    const text = await readFile(`${folder}/${thread}/schedstat`, 'utf8').catch(() => '');
    if (text !== '') times.set(thread, Number(text.split(' ')[0]));
  }
  return times;
}
