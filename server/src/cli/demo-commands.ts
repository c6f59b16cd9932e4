// A workspace full of made-up data from the command line, for a look at everything before there is real data.
import { z } from 'zod';
import type { DemoReport } from '../demo/demo.ts';
import { type Command, type Context, command } from './command.ts';
import { createWorkspace } from './workspace-commands.ts';

const OWN_SLUG = 'demo';
const FEWEST = 100;
const MOST = 100_000_000;
const FACTORS: Readonly<Record<string, number>> = { '': 1, k: 1_000, m: 1_000_000 };

/** `2000`, `10k`, `1.5m`. */
export const eventCount = z
  .string()
  .transform((text) => {
    const [, digits = '', unit = ''] = /^(\d{1,9}(?:\.\d{1,6})?)([km]?)$/i.exec(text.trim()) ?? [];
    return digits === '' ? Number.NaN : Number(digits) * (FACTORS[unit.toLowerCase()] as number);
  })
  .refine(
    (count) => Number.isInteger(count) && count >= FEWEST && count <= MOST,
    'takes a number from 100 to 100m, such as 5000, 10k or 1m',
  );

interface DemoResult extends DemoReport {
  readonly workspace: string;
  /** Of the workspace, where it was made just now. */
  readonly key: string | null;
}

export const demoCommands: readonly Command[] = [
  command({
    path: ['demo'],
    summary: 'Fill a workspace with a year of made-up links, clicks, leads and sales',
    options: {
      events: {
        schema: eventCount.optional(),
        value: 'number',
        description: 'How many clicks, such as 5000, 10k or 1m (default: 100k); leads and sales come on top.',
      },
      workspace: {
        schema: z.string().trim().min(1).optional(),
        value: 'workspace',
        description:
          'Where they go: the id or the slug of a workspace (default: one called demo, which is made).',
      },
      seed: {
        schema: z
          .string()
          .regex(/^\d{1,9}$/, 'takes a whole number of at most 9 digits')
          .transform(Number)
          .optional(),
        value: 'number',
        description: 'Another number makes other data (default: 1).',
      },
    },
    mayCreateData: true,
    run: async ({ app, signal, progress }: Context, input): Promise<DemoResult> => {
      // Without a server nobody has started it yet, and what is made here would pile up.
      if (!app.events.pipeline.state().running) app.events.start();
      const { workspace, key } = await findOrMake(app, input.workspace);
      const report = await app.demo({
        workspace,
        clicks: input.events,
        seed: input.seed,
        signal,
        progress,
      });
      return { workspace: workspace.slug, ...report, key };
    },
    print: describe,
  }),
];

async function findOrMake(app: Context['app'], ref: string | undefined) {
  const { workspaces } = app.services;
  const found = ref === undefined ? await workspaces.find(OWN_SLUG) : await workspaces.get(ref);
  if (found) return { workspace: found, key: null };
  const made = await createWorkspace(app, {
    name: 'Demo',
    slug: OWN_SLUG,
    plan: 'enterprise',
    owner: undefined,
  });
  return { workspace: made, key: made.key };
}

function describe({ workspace, domain, key, wasThere, resumed, ...counts }: DemoResult): string {
  const number = (count: number) => count.toLocaleString('en-US');
  const held = `${number(counts.links)} links on ${domain}, ${number(counts.clicks)} clicks, ${number(counts.leads)} leads and ${number(counts.sales)} sales`;
  return [
    resumed ? 'Went on where the last run was interrupted.' : '',
    wasThere
      ? `Nothing to do: the workspace ${workspace} has its demo already, with ${held}.`
      : `The workspace ${workspace} has ${held}.`,
    key === null
      ? `A key to look at them: linktrail key create ${workspace} --name Demo`
      : `\n  key   ${key}   (shown this once: keep it)`,
  ]
    .filter(Boolean)
    .join('\n');
}
