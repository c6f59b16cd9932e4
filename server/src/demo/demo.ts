// Fills a workspace with a year of links, clicks, leads and sales that never were, through the same door as an
// import. A workspace has one demo: interrupted, it goes on as it was begun; finished, it is left as it is.
import { z } from 'zod';
import type { ImportReport, ImportRequest } from '../dump/import.ts';
import type { Clock } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import { sha256Hex } from '../kernel/ids.ts';
import { openDemoSource } from './demo-source.ts';
import { createDemoEvents, type DemoPlan, type LinkSums } from './events.ts';

export interface DemoParts {
  readonly importLines: (request: ImportRequest) => Promise<ImportReport>;
  /** Keeps what was begun, by workspace. */
  readonly marks: {
    find(name: string): Promise<unknown>;
    save(name: string, state: object, nowMs: number): Promise<void>;
    delete(name: string): Promise<void>;
  };
  /** Resolves when everything that was told is in the event store. */
  readonly settle: () => Promise<void>;
  readonly freeBytes: () => Promise<number>;
  readonly clock: Clock;
}

export interface DemoRequest {
  readonly workspace: { readonly id: string; readonly slug: string };
  /** Undefined: as it was begun, or as usual. */
  readonly clicks: number | undefined;
  readonly seed: number | undefined;
  readonly signal: AbortSignal;
  readonly progress: (state: DemoProgress) => Promise<void>;
}

export interface DemoProgress {
  readonly done: number;
  readonly total: number;
  /** What an earlier run had done. */
  readonly before: number;
  readonly unit: string;
  readonly note?: string;
}

export interface DemoReport {
  readonly clicks: number;
  readonly links: number;
  readonly leads: number;
  readonly sales: number;
  readonly seed: number;
  /** Of the domain that the links are on. */
  readonly domain: string;
  /** There was nothing to do. */
  readonly wasThere: boolean;
  /** An earlier run was interrupted and this one went on after it. */
  readonly resumed: boolean;
}

export const DEFAULT_CLICKS = 100_000;
const DEFAULT_SEED = 1;
/** What a click takes on disk with its share of leads and sales, journal and archive included. */
const BYTES_PER_CLICK = 500;
/** So many more are made before the earlier ones are all stored. */
const CLICKS_AHEAD = 100_000;
const MINUTE_MS = 60_000;
const GIB = 1024 ** 3;

const begun = z.object({
  seed: z.int(),
  clicks: z.int(),
  endMs: z.int(),
  domain: z.string(),
  finished: z.boolean(),
});
type Begun = z.infer<typeof begun>;

export function createDemo(parts: DemoParts) {
  const { marks, clock } = parts;

  async function begin(request: DemoRequest): Promise<Begun> {
    const { clicks = DEFAULT_CLICKS, seed = DEFAULT_SEED, workspace } = request;
    await assertSpace(parts, clicks);
    const endMs = Math.floor(clock.now() / MINUTE_MS) * MINUTE_MS;
    const mark = { seed, clicks, endMs, domain: `go.${workspace.slug}.example`, finished: false };
    await marks.save(markName(workspace.id), mark, clock.now());
    return mark;
  }

  return async (request: DemoRequest): Promise<DemoReport> => {
    const { workspace, signal, progress } = request;
    const found = begun.safeParse(await marks.find(markName(workspace.id))).data;
    if (found) assertSame(found, request);
    const state = found ?? (await begin(request));
    const plan = planOf(workspace.id, state);
    const events = createDemoEvents(plan);
    let before = 0;
    const show = (done: number, note?: string) =>
      progress({ done, before, total: plan.clicks, unit: 'clicks', ...(note !== undefined && { note }) });
    const source = (sums: readonly LinkSums[]) =>
      openDemoSource({
        plan,
        events,
        sums,
        keepPace: createPace(parts.settle),
        onStart: (next) => {
          before = next;
        },
      });

    await show(0, 'adding up');
    const sums = await events.sum(signal);
    const report = { ...totals(sums), seed: plan.seed, domain: plan.domain, links: sums.length };
    if (state.finished) return { ...report, wasThere: true, resumed: false };
    const { resumed } = await parts
      .importLines({ source: source(sums), signal, progress: ({ done }) => show(done) })
      .catch(async (error: unknown) => {
        if (!isRefusal(error)) throw error;
        if (!found) await marks.delete(markName(workspace.id));
        throw inTheWay(error, workspace.slug);
      });
    await show(plan.clicks, 'storing');
    await parts.settle();
    await marks.save(markName(workspace.id), { ...state, finished: true }, clock.now());
    return { ...report, wasThere: false, resumed };
  };
}

export type Demo = ReturnType<typeof createDemo>;

const markName = (workspaceId: string) => `demo plan ${workspaceId}`;

/** Ids carry a mark of workspace and seed: they are no others', and the same each time. */
function planOf(workspaceId: string, { finished: _, ...state }: Begun): DemoPlan {
  const mark = sha256Hex(JSON.stringify(['demo', workspaceId, state.seed]))
    .slice(0, 12)
    .toUpperCase();
  return { ...state, workspaceId, mark };
}

function assertSame({ seed, clicks, finished }: Begun, request: DemoRequest): void {
  if ((request.seed ?? seed) === seed && (request.clicks ?? clicks) === clicks) return;
  const { slug } = request.workspace;
  const which = `a demo of ${clicks.toLocaleString('en-US')} clicks with the seed ${seed}`;
  throw new AppError(
    'conflict',
    finished
      ? `The workspace ${slug} has ${which} already. Make another workspace for another demo.`
      : `The workspace ${slug} has ${which} that was interrupted. Leave --events and --seed out to go on with it.`,
  );
}

async function assertSpace({ freeBytes }: DemoParts, clicks: number): Promise<void> {
  const [needed, free] = [clicks * BYTES_PER_CLICK, await freeBytes()];
  if (needed <= free) return;
  throw new AppError(
    'conflict',
    `${clicks.toLocaleString('en-US')} clicks need about ${inGib(needed)} of disk space, and ${inGib(free)} are free. Take fewer with --events.`,
  );
}

function inGib(bytes: number): string {
  return `${(bytes / GIB).toFixed(1)} GiB`;
}

/** Waits for those of the last stretch while the next one is being made. */
function createPace(settle: () => Promise<void>): (clicks: number) => Promise<void> {
  let stored: Promise<void> = Promise.resolve();
  let marked: number | undefined;
  return async (clicks) => {
    marked ??= clicks;
    if (clicks - marked < CLICKS_AHEAD) return;
    marked = clicks;
    await stored;
    stored = settle();
    // Told where it is waited for.
    stored.catch(() => {});
  };
}

/** Names and keys must be free: only in a workspace that is used for something else they may not be. */
function isRefusal(error: unknown): error is AppError {
  return error instanceof AppError && error.code === 'unprocessable_entity';
}

function inTheWay(error: AppError, slug: string): AppError {
  const [first = ''] = error.message.split('\n');
  const what = first.replace(/^Line \d+ /, '');
  const advice = 'Use a workspace of its own: leave --workspace out, or make one.';
  return new AppError('conflict', `The workspace ${slug} cannot take the demo: ${what}. ${advice}`, {
    cause: error,
  });
}

function totals(sums: readonly LinkSums[]): Pick<DemoReport, 'clicks' | 'leads' | 'sales'> {
  const total = { clicks: 0, leads: 0, sales: 0 };
  for (const { clicks, leads, sales } of sums) {
    total.clicks += clicks;
    total.leads += leads;
    total.sales += sales;
  }
  return total;
}
