// Workspaces from the command line: only the operator makes them and sets their plans and limits.
import { z } from 'zod';
import { PLANS } from '../http/operation.ts';
import { isoTime } from '../kernel/clock.ts';
import { LIMITS, type Limits, type Workspace } from '../workspaces/workspace.ts';
import { type Command, type Context, command, type Field } from './command.ts';

const PAGE_SIZE = 100;
const MAX_LIMIT = 1_000_000_000;

export const workspaceArg = {
  schema: z.string().trim().min(1),
  description: 'The id or the slug of the workspace.',
} satisfies Field;

const plan = z.enum(PLANS, { error: `takes one of ${PLANS.join(', ')}` });

export const workspaceCommands: readonly Command[] = [
  command({
    path: ['workspace', 'create'],
    summary: 'Make a workspace, its owner and the owner’s key',
    args: {
      name: { schema: z.string().trim().min(1).max(32), description: 'What the workspace is called.' },
    },
    options: {
      slug: {
        schema: z.string().optional(),
        value: 'slug',
        description: 'Its short name in addresses (default: made from the name).',
      },
      plan: {
        schema: plan.default('enterprise'),
        value: 'plan',
        description: `One of ${PLANS.join(', ')} (default: enterprise).`,
      },
      owner: {
        schema: z.string().trim().min(1).max(190).optional(),
        value: 'name',
        description: 'The name of the owner.',
      },
    },
    run: ({ app }: Context, input) => createWorkspace(app, input),
    print: ({ name, id, slug, plan: chosen, key }) =>
      `Workspace ${name} is made.\n\n  id    ${id}\n  slug  ${slug}\n  plan  ${chosen}\n  key   ${key}   (shown this once: keep it)`,
  }),
  command({
    path: ['workspace', 'list'],
    summary: 'List all workspaces',
    columns: [
      { title: 'ID', text: ({ id }) => String(id) },
      { title: 'SLUG', text: ({ slug }) => String(slug) },
      { title: 'PLAN', text: ({ plan: chosen }) => String(chosen) },
      { title: 'LIMITS', text: ({ limits }) => limitsText(limits as Limits) },
      { title: 'NAME', text: ({ name }) => String(name) },
    ],
    run: listWorkspaces,
  }),
  command({
    path: ['workspace', 'set-plan'],
    summary: 'Change the plan of a workspace',
    args: { workspace: workspaceArg, plan: { schema: plan, description: `One of ${PLANS.join(', ')}.` } },
    run: async ({ app }: Context, input) =>
      present(await app.services.workspaces.setPlan(input.workspace, input.plan)),
    print: (workspace) => `${workspace.slug} has the plan ${workspace.plan}.`,
  }),
  command({
    path: ['workspace', 'set-limit'],
    summary: 'Set or remove a limit of a workspace',
    args: {
      workspace: workspaceArg,
      limit: {
        schema: z.enum(LIMITS, { error: `takes one of ${LIMITS.join(', ')}` }),
        description: `One of ${LIMITS.join(', ')}.`,
      },
      number: {
        schema: z
          .string()
          .regex(/^(none|\d{1,10})$/, 'takes a whole number, or none')
          .transform((text) => (text === 'none' ? null : Number(text)))
          .refine((value) => (value ?? 0) <= MAX_LIMIT, `is at most ${MAX_LIMIT}; none takes the limit away`),
        description: 'The limit, or none to take it away.',
      },
    },
    run: async ({ app }: Context, { workspace, limit, number }) =>
      present(await app.services.workspaces.setLimit(workspace, limit, number)),
    print: (workspace) => `${workspace.slug} has these limits: ${limitsText(workspace.limits)}.`,
  }),
];

interface NewWorkspace {
  name: string;
  slug: string | undefined;
  plan: (typeof PLANS)[number];
  owner: string | undefined;
}

export function createWorkspace({ db, services }: Context['app'], input: NewWorkspace) {
  const { name, slug, plan: chosen, owner: ownerName } = input;
  return db.write(async () => {
    const { workspace, ownerId } = await services.workspaces.create({ name, slug, plan: chosen, ownerName });
    const owner = { userId: ownerId, role: 'owner', workspaceId: workspace.id } as const;
    const request = { name: 'First key', scopes: [], isMachine: false, expiresAt: null };
    const { key } = await services.tokens.create(owner, request);
    return { ...present(workspace), key };
  });
}

async function listWorkspaces({ app, row, signal }: Context): Promise<void> {
  for (let page = 1; ; page++) {
    signal.throwIfAborted();
    const found = await app.services.workspaces.list({
      sortBy: 'createdAt',
      sortOrder: 'asc',
      pageSize: PAGE_SIZE,
      page,
    });
    for (const workspace of found) await row(present(workspace));
    if (found.length < PAGE_SIZE) return;
  }
}

function present({ id, slug, name, plan: chosen, limits, createdAt }: Workspace) {
  return { id, slug, name, plan: chosen, limits, createdAt: isoTime(createdAt) };
}

function limitsText(limits: Limits): string {
  return (
    Object.entries(limits)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ') || 'none'
  );
}
