// Recurring work, run by one node at a time: a job is claimed with a lease in SQL, which is renewed while the
// job runs and expires with a node that died. Runs that were missed collapse into one.
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { Database } from './database.ts';

export interface Job {
  name: string;
  everyMs: number;
  /** After this long without a sign of life another node may run the job. */
  leaseMs?: number;
  /** Must stop soon after the signal is aborted: another node may be running the job already. */
  run(signal: AbortSignal): Promise<void>;
}

export type JobOutcome = 'ok' | 'failed' | 'aborted';

export interface JobsOptions {
  db: Database;
  clock: Clock;
  log: Log;
  /** The name of this node; no other may have it. */
  owner: string;
  jobs: readonly Job[];
  onRun?(name: string, outcome: JobOutcome, durationMs: number): void;
}

export interface Jobs {
  /** Renews the leases of what runs here, runs all due jobs once, and resolves when those have ended. */
  tick(): Promise<void>;
  start(): void;
  /** Aborts what runs here and waits for it; unfinished jobs are left to other nodes at once. */
  stop(): Promise<void>;
}

interface Run {
  job: Job;
  /** Names this one run, so that a node which lost its lease cannot renew or end a later one. */
  lease: string;
  dueAt: number;
  leaseUntil: number;
  abort: AbortController;
}

const DEFAULT_LEASE_MS = 60_000;
const LONGEST_PAUSE_MS = 5_000;
const LONGEST_ERROR = 500;

export function createJobs(options: JobsOptions): Jobs {
  const { clock, log, jobs } = options;
  const leases = createLeases(options);
  const running = new Map<string, Run>();
  const ticks = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let registered = false;

  async function look(): Promise<void> {
    if (!registered) await leases.register(jobs);
    registered = true;
    await Promise.all([...running.values()].map(renew));
    const claimed = await leases.claimDue(jobs.filter((job) => !running.has(job.name)));
    await Promise.all(claimed.map(begin));
  }

  async function renew(run: Run): Promise<void> {
    const renewed = await leases.renew(run).catch((error) => {
      // Until the lease ends nobody else takes the job: the next tick may still renew it.
      log.warn({ err: error, job: run.job.name }, 'Could not renew the lease of a job');
      return run.leaseUntil > clock.now();
    });
    if (!renewed) run.abort.abort(new Error('The lease was lost'));
  }

  async function begin(run: Run): Promise<void> {
    if (stopped) return leases.end(run, 'aborted', undefined);
    running.set(run.job.name, run);
    await execute(run, options, leases);
    running.delete(run.job.name);
  }

  function tick(): Promise<void> {
    const ticking = stopped ? Promise.resolve() : look();
    ticks.add(ticking);
    return ticking.finally(() => ticks.delete(ticking));
  }

  return {
    tick,
    start() {
      timer ??= setInterval(() => {
        tick().catch((error) => log.error({ err: error }, 'Could not look for due jobs'));
      }, pauseMs(jobs)).unref();
    },
    async stop() {
      stopped = true;
      clearInterval(timer);
      for (const run of running.values()) run.abort.abort(new Error('Stopping'));
      await Promise.allSettled(ticks);
    },
  };
}

/** Often enough to start jobs in time and to renew every lease before it ends. */
function pauseMs(jobs: readonly Job[]): number {
  const pauses = jobs.map((job) => Math.min(job.everyMs, (job.leaseMs ?? DEFAULT_LEASE_MS) / 3));
  return Math.min(LONGEST_PAUSE_MS, ...pauses);
}

async function execute(run: Run, { clock, log, onRun }: JobsOptions, leases: Leases): Promise<void> {
  const { job, abort } = run;
  const startedAt = clock.now();
  let error: unknown;
  try {
    await job.run(abort.signal);
  } catch (thrown) {
    error = thrown ?? new Error('The job failed without an error');
  }
  const outcome: JobOutcome = error === undefined ? 'ok' : abort.signal.aborted ? 'aborted' : 'failed';
  if (outcome === 'failed')
    log.error({ err: error, job: job.name }, 'A job failed; it runs again at its next interval');
  onRun?.(job.name, outcome, clock.now() - startedAt);
  await leases.end(run, outcome, error).catch((failure) => {
    log.warn({ err: failure, job: job.name }, 'Could not record the end of a job; its lease will expire');
  });
}

type Leases = ReturnType<typeof createLeases>;

function createLeases({ db, clock, owner }: JobsOptions) {
  let claims = 0;

  async function register(jobs: readonly Job[]): Promise<void> {
    if (jobs.length === 0) return;
    const rows = jobs.map((job) => ({ name: job.name, next_run_at: clock.now() }));
    await db.query
      .insertInto('job')
      .values(rows)
      .onConflict((oc) => oc.column('name').doNothing())
      .execute();
  }

  async function claimDue(jobs: readonly Job[]): Promise<Run[]> {
    if (jobs.length === 0) return [];
    const now = clock.now();
    const names = jobs.map((job) => job.name);
    // Reading first keeps the common case, nothing due, free of writes.
    const due = await db.query
      .selectFrom('job')
      .select(['name', 'next_run_at'])
      .where('name', 'in', names)
      .where('next_run_at', '<=', now)
      .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<=', now)]))
      .execute();
    const runs: Run[] = [];
    for (const { name, next_run_at } of due) {
      const job = jobs.find((candidate) => candidate.name === name) as Job;
      const run = await claim(job, next_run_at);
      if (run) runs.push(run);
    }
    return runs;
  }

  /** One conditional update decides between nodes that saw the same job due. */
  async function claim(job: Job, dueAt: number): Promise<Run | undefined> {
    const now = clock.now();
    claims += 1;
    const lease = `${owner}/${claims}`;
    const leaseUntil = now + (job.leaseMs ?? DEFAULT_LEASE_MS);
    const { numUpdatedRows } = await db.query
      .updateTable('job')
      .set({ lease_owner: lease, lease_until: leaseUntil })
      .where('name', '=', job.name)
      .where('next_run_at', '=', dueAt)
      .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<=', now)]))
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return undefined;
    return { job, lease, dueAt, leaseUntil, abort: new AbortController() };
  }

  async function renew(run: Run): Promise<boolean> {
    const leaseUntil = clock.now() + (run.job.leaseMs ?? DEFAULT_LEASE_MS);
    const { numUpdatedRows } = await ownRow(run).set({ lease_until: leaseUntil }).executeTakeFirst();
    if (numUpdatedRows === 0n) return false;
    run.leaseUntil = leaseUntil;
    return true;
  }

  async function end(run: Run, outcome: JobOutcome, error: unknown): Promise<void> {
    const now = clock.now();
    const free = { lease_owner: null, lease_until: null };
    // An aborted run stays due, for another node.
    if (outcome === 'aborted') await ownRow(run).set(free).execute();
    else {
      const last_error = outcome === 'ok' ? null : describe(error);
      const next_run_at = nextRunAt(run.dueAt, run.job.everyMs, now);
      await ownRow(run)
        .set({ ...free, last_run_at: now, last_error, next_run_at })
        .execute();
    }
  }

  function ownRow(run: Run) {
    return db.query.updateTable('job').where('name', '=', run.job.name).where('lease_owner', '=', run.lease);
  }

  return { register, claimDue, renew, end };
}

function nextRunAt(dueAt: number, everyMs: number, now: number): number {
  return dueAt + everyMs * (Math.floor(Math.max(0, now - dueAt) / everyMs) + 1);
}

function describe(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, LONGEST_ERROR);
}
