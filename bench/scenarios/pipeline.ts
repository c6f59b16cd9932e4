// What the pipeline takes: a journal full of clicks into the event store and the counters, and how soon a click
// is stored while 2,000 come every second.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type App, openApp } from '../../server/src/app.ts';
import { readConfig } from '../../server/src/config.ts';
import { createClickIds } from '../../server/src/events/click-id.ts';
import { createEventEncoder } from '../../server/src/events/event.ts';
import { systemClock } from '../../server/src/kernel/clock.ts';
import { silentLog } from '../../server/src/kernel/log.ts';
import type { Line, Scenario } from '../scenario.ts';

const CLICKS = 500_000;
const LINKS = 1_000;
/** Popular browsers have few thousand user agents between them. */
const USER_AGENTS = 3_000;
const CLICKS_PER_TURN = 500;
const STEADY_PER_SECOND = 2_000;
const TICK_MS = 10;

export const pipeline: Scenario = {
  name: 'pipeline',
  title: 'clicks from the journal into the event store and the counters',
  async run({ seconds, progress }) {
    const dataDir = await mkdtemp(join(tmpdir(), 'linktrail-bench-'));
    const app = await openApp({ config: readConfig({ LINKTRAIL_DATA_DIR: dataDir }), log: silentLog });
    try {
      const click = await createClicker(app);
      for (let n = 0; n < CLICKS; n += CLICKS_PER_TURN) await click(CLICKS_PER_TURN);
      progress(`${CLICKS} clicks are in the journal`);
      return [await drain(app), await measureDelay(app, click, seconds)];
    } finally {
      await app.close();
      await rm(dataDir, { recursive: true, force: true });
    }
  },
};

type Clicker = (count: number) => Promise<void>;

/** Records clicks as visits do: of distinct visitors, on links that exist. */
async function createClicker(app: App): Promise<Clicker> {
  const { workspace, ownerId } = await app.services.workspaces.create({ name: 'Bench', plan: 'enterprise' });
  const linkIds = await insertLinks(app, workspace.id, ownerId);
  const encoder = createEventEncoder();
  const ids = createClickIds(systemClock);
  let n = 0;
  return async (count) => {
    const written = Array.from({ length: count }, () => {
      n += 1;
      const id = ids();
      const record = encoder.click({
        id,
        timeMs: systemClock.now(),
        workspaceId: workspace.id,
        linkId: linkIds[n % LINKS] as string,
        domain: 'go.example.com',
        key: `key-${n % LINKS}`,
        url: `https://example.com/landing?utm_source=news&dub_id=${id}`,
        ip: `${(n % 99) + 1}.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`,
        userAgent: `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/1${n % USER_AGENTS}.0.0.0 Safari/537.36`,
        referer: 'https://www.example.org/article',
        trigger: 'link',
        qr: false,
        ipPrivacy: 'standard',
        countryHint: '',
      });
      return app.visits.journal.append(record);
    });
    await Promise.all(written);
  };
}

async function insertLinks({ db }: App, workspaceId: string, userId: string): Promise<string[]> {
  const ids = Array.from({ length: LINKS }, (_, n) => `link_bench_${n}`);
  await db.write(async (trx) => {
    for (const [n, id] of ids.entries()) {
      const key = `key-${n}`;
      const names = {
        domain: 'go.example.com',
        key,
        lookup_key: key,
        url: 'https://example.com/',
        url_hash: '',
      };
      const times = { created_at: n, updated_at: n };
      await trx
        .insertInto('link')
        .values({ id, workspace_id: workspaceId, user_id: userId, ...names, ...times, ...EMPTY })
        .execute();
    }
  });
  return ids;
}

const EMPTY = {
  track_conversion: 0,
  archived: 0,
  proxy: 0,
  rewrite: 0,
  do_index: 0,
  public_stats: 0,
  clicks: 0,
  leads: 0,
  conversions: 0,
  sales: 0,
  sale_amount: 0,
  last_clicked_at: 0,
};

async function stored(app: App): Promise<number> {
  return (JSON.parse(await app.events.pipeline.query('counts')) as { clicks: number }).clicks;
}

async function drain(app: App): Promise<Line> {
  const startMs = performance.now();
  app.events.start();
  await app.events.settle();
  const ours = (CLICKS / (performance.now() - startMs)) * 1_000;
  if ((await stored(app)) !== CLICKS) throw new Error('not all clicks are stored');
  return { name: 'pipeline', what: `${CLICKS} clicks, start of the thread included`, ours, unit: 'events/s' };
}

/** Every tick some clicks; the delay is from the moment a click is written to the first look that finds it. */
async function measureDelay(app: App, click: Clicker, seconds: number): Promise<Line> {
  const written: { total: number; atMs: number }[] = [];
  const delaysMs: number[] = [];
  const endMs = performance.now() + seconds * 1_000;
  let total = CLICKS;
  const look = async () => {
    while (performance.now() < endMs || written.length > 0) {
      const there = await stored(app);
      const nowMs = performance.now();
      while (written[0] && written[0].total <= there) delaysMs.push(nowMs - (written.shift()?.atMs ?? nowMs));
      await sleep(TICK_MS);
    }
  };
  const looking = look();
  while (performance.now() < endMs) {
    await click((STEADY_PER_SECOND * TICK_MS) / 1_000);
    total += (STEADY_PER_SECOND * TICK_MS) / 1_000;
    written.push({ total, atMs: performance.now() });
    await sleep(TICK_MS);
  }
  await looking;
  delaysMs.sort((a, b) => a - b);
  const at = (share: number) =>
    delaysMs[Math.min(delaysMs.length - 1, Math.floor(delaysMs.length * share))] ?? 0;
  const rate = Math.round((total - CLICKS) / seconds);
  return {
    name: 'pipeline',
    what: `longest delay until a click is stored, at ${rate} clicks/s`,
    ours: at(1),
    unit: 'ms',
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}
