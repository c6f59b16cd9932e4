// A workspace out of one instance and into an empty one, by the command line as people use it, and out of that
// again: links a second, peak memory, and whether nothing got lost on the way. Reported, without a bar.
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { type Database, openDatabase } from '../../server/src/db/database.ts';
import { migrate } from '../../server/src/db/migrate.ts';
import { systemClock } from '../../server/src/kernel/clock.ts';
import { silentLog } from '../../server/src/kernel/log.ts';
import { addBigLinks, addWorkspaces, BIG } from '../link-fill.ts';
import type { Line, Scenario, ScenarioContext } from '../scenario.ts';

const CLI = join(import.meta.dirname, '..', '..', 'server', 'bin', 'linktrail.mjs');
const POLL_MS = 100;

export const dump: Scenario = {
  name: 'dump',
  title: 'Export of a workspace, import into an empty instance',
  async run(context) {
    const folder = await mkdtemp(join(tmpdir(), 'linktrail-bench-'));
    try {
      const lines = await moveTo({ engine: 'SQLite', folder, context, env: {} });
      const url = process.env.LINKTRAIL_TEST_POSTGRES;
      if (!url) return lines;
      return [
        ...lines,
        ...(await withSchema(url, (place) =>
          moveTo({ engine: 'PostgreSQL', folder, context, env: { DATABASE_URL: place } }),
        )),
      ];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

interface Move {
  readonly engine: string;
  readonly folder: string;
  readonly context: ScenarioContext;
  readonly env: Record<string, string>;
}

/** From an instance on SQLite, filled by the first move, to an empty one, and out of that again. */
async function moveTo({ engine, folder, context, env }: Move): Promise<Line[]> {
  const { links = 100_000, progress } = context;
  const [source, target] = [join(folder, 'source'), join(folder, `target-${engine}`)];
  const [first, second] = [join(folder, 'first.ndjson'), join(folder, 'second.ndjson')];
  const lines: Line[] = [];
  const step = async (what: string, args: string[], dataDir: string, more: Record<string, string> = {}) => {
    const { seconds, peakMb } = await run(args, { LINKTRAIL_DATA_DIR: dataDir, ...more });
    progress(`${engine}: ${what} ${seconds.toFixed(1)} s, peak ${peakMb} MB`);
    lines.push({
      name: 'dump',
      what: `${engine}: ${what} of ${links} links (${seconds.toFixed(1)} s, peak memory ${peakMb} MB)`,
      ours: links / seconds,
      unit: 'links/s',
    });
  };
  if (engine === 'SQLite') {
    await fill(source, links);
    await step('export', ['export', '--workspace', BIG, '--out', first], source);
    progress(`${((await stat(first)).size / links).toFixed(0)} bytes a link`);
  }
  await step('import', ['import', first], target, env);
  await step('import again, nothing changed', ['import', first], target, env);
  await step('export of the copy', ['export', '--workspace', BIG, '--out', second], target, env);
  if ((await hashOf(first)) !== (await hashOf(second))) throw new Error('The copy is not the same.');
  progress(`${engine}: both dumps are equal`);
  return lines;
}

async function fill(dataDir: string, links: number): Promise<void> {
  await mkdir(dataDir);
  const db = await openDatabase({ url: join(dataDir, 'linktrail.db'), log: silentLog });
  try {
    await migrate(db, { clock: systemClock });
    await addWorkspaces(db);
    await addNeeded(db);
    await addBigLinks(db, 0, links);
  } finally {
    await db.close();
  }
}

/** What the links refer to. */
async function addNeeded(db: Database): Promise<void> {
  const domains = ['a.example', 'b.example', 'rare.example'].map(
    (slug) => sql`(${slug}, ${BIG}, ${slug}, 'code', 1, 1)`,
  );
  await sql`insert into domain (id, workspace_id, slug, verification_code, created_at, updated_at) values ${sql.join(domains)}`.execute(
    db.query,
  );
  const folders = Array.from(
    { length: 60 },
    (_, i) => sql`(${`fold_${i}`}, ${BIG}, ${`f${i}`}, ${`f${i}`}, 'default', 1, 1)`,
  );
  await sql`insert into folder (id, workspace_id, name, name_folded, type, created_at, updated_at) values ${sql.join(folders)}`.execute(
    db.query,
  );
}

async function withSchema(url: string, work: (place: string) => Promise<Line[]>): Promise<Line[]> {
  const schema = `bench_${process.pid}_${Math.trunc(performance.timeOrigin)}`;
  const admin = await openDatabase({ url, log: silentLog, postgres: { poolSize: 1, statementTimeoutMs: 0 } });
  const place = new URL(url);
  place.searchParams.set('options', `-c search_path=${schema},public`);
  try {
    await sql.raw(`create schema ${schema}`).execute(admin.query);
    return await work(place.href);
  } finally {
    await sql.raw(`drop schema if exists ${schema} cascade`).execute(admin.query);
    await admin.close();
  }
}

async function run(
  args: string[],
  env: Record<string, string>,
): Promise<{ seconds: number; peakMb: number }> {
  const startMs = performance.now();
  const child = spawn(process.execPath, [CLI, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr?.on('data', (chunk) => {
    said = `${said}${chunk}`.slice(-2_000);
  });
  let peakKb = 0;
  const poll = setInterval(async () => {
    peakKb = Math.max(peakKb, await peakOf(child));
  }, POLL_MS);
  const [code] = (await once(child, 'close')) as [number];
  clearInterval(poll);
  if (code !== 0) throw new Error(`linktrail ${args[0]} ended with ${code}: ${said}`);
  return { seconds: (performance.now() - startMs) / 1_000, peakMb: Math.round(peakKb / 1_024) };
}

/** Linux keeps the highest mark itself: the last look before the end is enough. */
async function peakOf({ pid }: ChildProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0);
}

/** Of everything but the first line, which says when it was written. */
async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  let inFirstLine = true;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    const end = inFirstLine ? chunk.indexOf('\n') : 0;
    if (end < 0) continue;
    hash.update(inFirstLine ? chunk.subarray(end) : chunk);
    inFirstLine = false;
  }
  return hash.digest('hex');
}
