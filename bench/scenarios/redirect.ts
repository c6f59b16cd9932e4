// Visits against a bare server that answers 302: one hot link, and many links in random order. Everything is
// on, and every visit is from another visitor, so that each is a click to record.
import { setTimeout as sleep } from 'node:timers/promises';
import { startBaseline } from '../baseline.ts';
import { type Comparison, compareLoads, median } from '../compare.ts';
import { type Linktrail, startLinktrail } from '../linktrail.ts';
import { measureProcessorTime, type ProcessorTime } from '../processor-time.ts';
import type { Bar, Line, Scenario, ScenarioContext } from '../scenario.ts';
import { addVisitLinks } from '../visit-fill.ts';

const MEGABYTE = 1024 * 1024;
const DOMAIN = 'localhost';
const P99_BAR: Bar = { atMost: 2 };
const MEMORY_BAR_MB = 500;
const DRAIN_BAR_SECONDS = 10;
const MAX_DRAIN_SECONDS = 60;

export const redirect: Scenario = {
  name: 'redirect',
  title: 'visits of one link against a bare 302',
  bar: { atLeast: 0.8 },
  async run(context) {
    const ours = await startLinktrail({ env: { LINKTRAIL_LOG_LEVEL: 'warn' } });
    try {
      await addLink(ours, 'hot');
      const result = await compareVisits(ours, { path: '/hot' }, context);
      return [
        ...toLines(this, result, P99_BAR),
        ...timeLines(this, result.times),
        await memoryLine(this, ours),
        ...(await lossLines(this, ours, result)),
      ];
    } finally {
      await ours.close();
    }
  },
};

export const redirectMany: Scenario = {
  name: 'redirect-many',
  title: 'visits of many links at random (--links 1m; 100k by default)',
  bar: { atLeast: 0.5 },
  async run(context) {
    const { links = 100_000, progress } = context;
    const first = await startLinktrail();
    await first.stop();
    await addVisitLinks(first.dataDir, DOMAIN, links);
    progress(`${links} links filled in`);
    const ours = await startLinktrail({ dataDir: first.dataDir, env: { LINKTRAIL_LOG_LEVEL: 'warn' } });
    try {
      const result = await compareVisits(ours, { links }, context);
      const memory = await memoryLine(this, ours);
      const ratio = memory.ours / MEMORY_BAR_MB;
      return [
        ...toLines(this, result),
        ...timeLines(this, result.times),
        { ...memory, baseline: MEMORY_BAR_MB, ratio, bar: { atMost: 1 } },
        ...(await lossLines(this, ours, result)),
      ];
    } finally {
      await ours.close();
    }
  },
};

interface VisitComparison extends Comparison {
  /** The longest it took after a load until the last of its clicks was stored. */
  readonly drainSeconds: number;
  readonly times: readonly { ours: ProcessorTime; baseline: ProcessorTime }[];
}

async function compareVisits(
  ours: Linktrail,
  data: unknown,
  { seconds, rounds }: ScenarioContext,
): Promise<VisitComparison> {
  const bare = await startBaseline('redirect');
  try {
    const load = {
      requests: new URL('../requests/visitors.ts', import.meta.url),
      data,
      expect: [302],
      seconds,
    };
    const [oursLoad, bareLoad] = [
      { ...load, port: ours.port },
      { ...load, port: bare.port },
    ];
    let drainSeconds = 0;
    const settle = async () => {
      drainSeconds = Math.max(drainSeconds, await drain(ours));
    };
    const compared = await compareLoads(oursLoad, bareLoad, rounds, settle);
    const times: { ours: ProcessorTime; baseline: ProcessorTime }[] = [];
    for (let round = 0; round < rounds; round++) {
      const baseline = await measureProcessorTime(bare.pid, bareLoad);
      const own = await measureProcessorTime(ours.pid, oursLoad);
      await settle();
      if (baseline && own) times.push({ ours: own, baseline });
    }
    return { ...compared, times, drainSeconds };
  } finally {
    await bare.close();
  }
}

function toLines(
  { name, title, bar }: Scenario,
  { ours, baseline, ratio, p99Ratio }: Comparison,
  p99Bar?: Bar,
): Line[] {
  return [
    {
      name,
      what: title,
      ours: ours.requestsPerSecond,
      baseline: baseline.requestsPerSecond,
      unit: 'req/s',
      ratio,
      ...(bar && { bar }),
      p50Ms: ours.p50Ms,
      p99Ms: ours.p99Ms,
    },
    {
      name,
      what: 'p99 against its p99',
      ours: ours.p99Ms,
      baseline: baseline.p99Ms,
      unit: 'ms',
      ratio: p99Ratio,
      ...(p99Bar && { bar: p99Bar }),
    },
  ];
}

function timeLines({ name }: Scenario, times: VisitComparison['times']): Line[] {
  if (times.length === 0) return [];
  const [ours, baseline] = [
    median(times.map((time) => time.ours.mainUs)),
    median(times.map((time) => time.baseline.mainUs)),
  ];
  return [
    {
      name,
      what: 'processor time a visit, main thread; ratio: visits in the same time',
      ours,
      baseline,
      unit: 'µs',
      ratio: baseline / ours,
    },
    {
      name,
      what: 'processor time a visit, other threads',
      ours: median(times.map((time) => time.ours.othersUs)),
      unit: 'µs',
    },
  ];
}

async function memoryLine({ name }: Scenario, ours: Linktrail): Promise<Line> {
  return {
    name,
    what: 'resident memory afterwards',
    ours: (await ours.residentBytes()) / MEGABYTE,
    unit: 'MB',
  };
}

/** Of the visits that were to be counted, how many were not: none may be. */
async function lossLines(
  { name }: Scenario,
  ours: Linktrail,
  { drainSeconds }: VisitComparison,
): Promise<Line[]> {
  const { recorded, missed } = await readCounts(ours);
  if (!(recorded > 0) || missed > 0)
    throw new Error(`${missed} visits were not recorded as clicks, ${recorded} were`);
  return [
    { name, what: 'clicks recorded, and found in the event store', ours: recorded, unit: 'clicks' },
    {
      name,
      what: 'after a burst, until its last click was stored',
      ours: drainSeconds,
      unit: 's',
      baseline: DRAIN_BAR_SECONDS,
      ratio: drainSeconds / DRAIN_BAR_SECONDS,
      bar: { atMost: 1 },
    },
  ];
}

/** Waits until every click that was answered is in the event store, and no other. */
async function drain(ours: Linktrail): Promise<number> {
  const startMs = performance.now();
  for (;;) {
    const stored = await countStored(ours);
    // Read afterwards: visits that were under way when the client ended count as well.
    const { recorded } = await readCounts(ours);
    const seconds = (performance.now() - startMs) / 1_000;
    if (stored === recorded) return seconds;
    if (stored > recorded || seconds > MAX_DRAIN_SECONDS)
      throw new Error(`${recorded} clicks were answered, ${stored} are stored after ${seconds.toFixed(0)} s`);
    await sleep(100);
  }
}

async function readCounts({ port }: Linktrail): Promise<{ recorded: number; missed: number }> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const count = (counted: string) =>
    Number(new RegExp(`clicks_total{counted="${counted}"} (\\d+)`).exec(text)?.[1]);
  const missed = count('lost') + count('robot') + count('repeated') + count('untracked');
  return { recorded: count('recorded'), missed };
}

async function countStored({ port, key }: Linktrail): Promise<number> {
  const response = await fetch(
    `http://127.0.0.1:${port}/api/analytics?event=clicks&groupBy=count&interval=all`,
    {
      headers: { authorization: `Bearer ${key}` },
    },
  );
  if (!response.ok) throw new Error(`no count: ${await response.text()}`);
  return ((await response.json()) as { clicks: number }).clicks;
}

async function addLink({ port, key: token }: Linktrail, key: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/api/links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'https://example.com/', key }),
  });
  if (!response.ok) throw new Error(`no link: ${await response.text()}`);
}
