// The doctor: looks at everything a server needs and says, for whatever is not in order, what to do. Checks
// change nothing but a probe file, and ask the running server where there is one.
import { type Config, describeConfig, loadConfig } from '../config.ts';
import { type Clock, isoTime, systemClock } from '../kernel/clock.ts';
import type { Check } from './check.ts';
import { type ServerStatus, statusCommand } from './commands.ts';
import { connectControl, describeFailure } from './control.ts';
import {
  checkCertificate,
  checkDataDir,
  checkDescriptors,
  checkDisk,
  checkNode,
  checkPort,
} from './machine-checks.ts';
import type { StoreReport } from './store-report.ts';

const EARLIEST_MS = Date.UTC(2026, 0, 1);
const MAX_STEP_MS = 1_000;
const MAX_SKEW_MS = 2_000;
const MAX_ROW_AHEAD_MS = 60_000;
const CLICKHOUSE_WAIT_MS = 10_000;

export async function examine(clock: Clock = systemClock): Promise<Check[]> {
  const start = { wallMs: clock.now(), steadyMs: performance.now() };
  const config = readConfiguration();
  if ('check' in config) return [config.check, ...checkNode(), checkClock(clock, start)];
  const { value } = config;
  const server = await findServer(value);
  const store = await examineStore(value, server.status, clock);
  const checks = [
    ...checkConfiguration(value),
    ...checkNode(),
    await checkDataDir(value.dataDir),
    await checkDisk(value.dataDir),
    server.check,
    ...store.checks,
    ...(await checkClickhouse(value)),
    await checkCertificate(value),
    await checkPort(value, server.status),
    checkDescriptors(value.maxConnections, server.status?.pid),
    checkClock(clock, start, store.report),
  ];
  return checks;
}

function readConfiguration(): { value: Config } | { check: Check } {
  try {
    return { value: loadConfig() };
  } catch (error) {
    const advice = 'Correct it in the environment or in .env. The other checks need a valid configuration.';
    return { check: { name: 'configuration', state: 'fail', text: describeFailure(error).message, advice } };
  }
}

function checkConfiguration(config: Config): Check[] {
  const name = 'configuration';
  const set = new Set(
    describeConfig(config)
      .filter((line) => line.set)
      .map((line) => line.variable),
  );
  const warnings: Check[] = [];
  const warn = (text: string, advice: string) => warnings.push({ name, state: 'warn', text, advice });
  const isLocal = /^(127\.|localhost$|::1$)/.test(config.host);
  if (!isLocal && !set.has('LINKTRAIL_PUBLIC_URL')) {
    warn(
      `HOST is ${config.host}, but LINKTRAIL_PUBLIC_URL is not set.`,
      `Set it to the address people use; links made outside a request point to ${config.publicUrl} until then.`,
    );
  }
  if (config.redisUrl) warn('REDIS_URL is set, but this release keeps limits in memory.', 'Remove it.');
  return warnings.length > 0 ? warnings : [{ name, state: 'ok', text: `valid; settings given: ${set.size}` }];
}

async function findServer({ dataDir }: Config): Promise<{ status: ServerStatus | undefined; check: Check }> {
  const name = 'server';
  try {
    const control = await connectControl(dataDir);
    if (!control) return { status: undefined, check: { name, state: 'ok', text: 'not running' } };
    const status = (await control.run(statusCommand, {}, { row() {}, progress() {} })) as ServerStatus;
    return {
      status,
      check: { name, state: 'ok', text: `running, pid ${status.pid}, version ${status.version}` },
    };
  } catch (error) {
    const { message } = describeFailure(error);
    const advice = 'Look at the log of the server; run the doctor as the user that runs it.';
    return { status: undefined, check: { name, state: 'fail', text: `does not answer: ${message}`, advice } };
  }
}

interface StoreExamination {
  checks: Check[];
  report?: StoreReport;
}

async function examineStore(
  config: Config,
  status: ServerStatus | undefined,
  clock: Clock,
): Promise<StoreExamination> {
  const name = 'database';
  if (status) return judgeStore(status.store);
  try {
    const { openStoreReport } = await import('./store-report.ts');
    const report = await openStoreReport(config, clock);
    if (!report) return { checks: [{ name, state: 'ok', text: 'none yet: the first start makes it' }] };
    return judgeStore(report);
  } catch (error) {
    const advice = config.databaseUrl
      ? 'Check that DATABASE_URL is right and that PostgreSQL runs and lets this machine in.'
      : 'Check the folder and the disk; restore the database from a backup if it is damaged.';
    return {
      checks: [{ name, state: 'fail', text: `cannot be opened: ${describeFailure(error).message}`, advice }],
    };
  }
}

async function checkClickhouse({ clickhouseUrl }: Config): Promise<Check[]> {
  if (!clickhouseUrl) return [];
  const name = 'events';
  try {
    const { pingClickhouse } = await import('../analytics/clickhouse-engine.ts');
    await pingClickhouse(clickhouseUrl, CLICKHOUSE_WAIT_MS);
    return [{ name, state: 'ok', text: 'ClickHouse answers' }];
  } catch (error) {
    const advice =
      'Check that CLICKHOUSE_URL is right and that ClickHouse runs and lets this machine in. Visits go on meanwhile; the journal keeps them.';
    return [{ name, state: 'fail', text: describeFailure(error).message, advice }];
  }
}

function judgeStore(report: StoreReport): StoreExamination {
  const { engine, schema, knownSchema, clockAheadMs } = report;
  const engineName = engine === 'postgres' ? 'PostgreSQL' : 'SQLite';
  const checks: Check[] = [];
  const say = (state: Check['state'], text: string, advice?: string) =>
    checks.push({ name: 'database', state, text, ...(advice !== undefined && { advice }) });
  if (schema > knownSchema) {
    say(
      'fail',
      `${engineName} is at version ${schema}, this program knows ${knownSchema}`,
      'Use the newer release.',
    );
  } else if (schema < knownSchema) {
    say('ok', `${engineName} answers; the next start brings it from version ${schema} to ${knownSchema}`);
  } else {
    say('ok', `${engineName} answers and is at version ${schema}`);
  }
  if (clockAheadMs !== null && Math.abs(clockAheadMs) > MAX_SKEW_MS) {
    const seconds = Math.round(Math.abs(clockAheadMs) / 1000);
    const way = clockAheadMs > 0 ? 'ahead of' : 'behind';
    say('warn', `its clock is ${seconds} s ${way} this machine's`, 'Keep both in time (NTP).');
  }
  return { checks, report };
}

function checkClock(clock: Clock, start: { wallMs: number; steadyMs: number }, report?: StoreReport): Check {
  const name = 'clock';
  const nowMs = clock.now();
  const advice = 'Set the clock of this machine and keep it in time (NTP).';
  if (nowMs < EARLIEST_MS)
    return { name, state: 'fail', text: `says ${isoTime(nowMs)}, which is long past`, advice };
  if (report && report.newestRowMs > nowMs + MAX_ROW_AHEAD_MS) {
    const text = `says ${isoTime(nowMs)}, but the database holds rows of ${isoTime(report.newestRowMs)}`;
    return { name, state: 'fail', text, advice };
  }
  const stepMs = nowMs - start.wallMs - (performance.now() - start.steadyMs);
  if (Math.abs(stepMs) > MAX_STEP_MS)
    return { name, state: 'warn', text: 'jumped during this check', advice };
  return { name, state: 'ok', text: isoTime(nowMs) };
}
