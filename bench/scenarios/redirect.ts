// Visits against a bare server that answers 302: one hot link, and many links in random order. Everything is
// on, and every visit is from another visitor, so that each is a click to record.
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
        await lossLine(this, ours),
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
        await lossLine(this, ours),
      ];
    } finally {
      await ours.close();
    }
  },
};

interface VisitComparison extends Comparison {
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
    const compared = await compareLoads(oursLoad, bareLoad, rounds);
    const times: { ours: ProcessorTime; baseline: ProcessorTime }[] = [];
    for (let round = 0; round < rounds; round++) {
      const baseline = await measureProcessorTime(bare.pid, bareLoad);
      const own = await measureProcessorTime(ours.pid, oursLoad);
      if (baseline && own) times.push({ ours: own, baseline });
    }
    return { ...compared, times };
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
async function lossLine({ name }: Scenario, { port }: Linktrail): Promise<Line> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const count = (counted: string) =>
    Number(new RegExp(`clicks_total{counted="${counted}"} (\\d+)`).exec(text)?.[1]);
  const missed = count('lost') + count('robot') + count('repeated') + count('untracked');
  if (!(count('recorded') > 0) || missed > 0)
    throw new Error(`${missed} visits were not recorded as clicks, ${count('recorded')} were`);
  return { name, what: 'clicks recorded', ours: count('recorded'), unit: 'clicks' };
}

async function addLink({ port, key: token }: Linktrail, key: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/api/links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'https://example.com/', key }),
  });
  if (!response.ok) throw new Error(`no link: ${await response.text()}`);
}
