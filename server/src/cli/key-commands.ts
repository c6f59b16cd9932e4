// API keys from the command line. A key is shown once, by the command that makes it, and never logged.
import { z } from 'zod';
import { SCOPE_NAMES } from '../access/rights.ts';
import type { Token } from '../access/token.ts';
import { isoTime } from '../kernel/clock.ts';
import { AppError, invalid } from '../kernel/errors.ts';
import { type Command, type Context, command } from './command.ts';
import { workspaceArg } from './workspace-commands.ts';

const PAGE_SIZE = 100;
const HOUR_MS = 3_600_000;
const UNIT_MS: Readonly<Record<string, number>> = { h: HOUR_MS, d: 24 * HOUR_MS, w: 7 * 24 * HOUR_MS };

const EXPIRES =
  'takes a date such as 2030-12-31 or 2030-12-31T12:00:00Z, or a time from now such as 12h, 30d or 8w';
const expires = z.union(
  [z.iso.date(), z.iso.datetime({ offset: true }), z.string().regex(/^[1-9]\d{0,4}[hdw]$/)],
  {
    error: EXPIRES,
  },
);

export const keyCommands: readonly Command[] = [
  command({
    path: ['key', 'create'],
    summary: 'Make a key for the owner of a workspace',
    args: { workspace: workspaceArg },
    options: {
      name: {
        schema: z.string().trim().min(1).max(50).default('Command line'),
        value: 'name',
        description: 'What the key is for.',
      },
      scopes: {
        schema: z
          .string()
          .transform((text) => text.split(',').map((scope) => scope.trim()))
          .pipe(z.array(z.enum(SCOPE_NAMES, { error: `takes some of ${SCOPE_NAMES.join(', ')}` })))
          .default([]),
        value: 'a,b',
        description: `What the key may do: some of ${SCOPE_NAMES.join(', ')} (default: all that the owner may).`,
      },
      machine: {
        schema: z.boolean().default(false),
        description: 'Make a machine user of its own for the key.',
      },
      expires: {
        schema: expires.optional(),
        value: 'when',
        description: 'When it stops working: a date, or a time from now such as 30d (default: never).',
      },
    },
    run: ({ app }: Context, input) => createKey(app, input),
    print: ({ id, key, workspace, expires: end }) =>
      `A key for ${workspace}${end === null ? '' : `, until ${end}`}.\n\n  id   ${id}\n  key  ${key}   (shown this once: keep it)`,
  }),
  command({
    path: ['key', 'list'],
    summary: 'List the keys of a workspace, without their secrets',
    args: { workspace: workspaceArg },
    columns: [
      { title: 'ID', text: ({ id }) => String(id) },
      { title: 'KEY', text: ({ partialKey }) => String(partialKey) },
      { title: 'NAME', text: ({ name }) => String(name) },
      { title: 'SCOPES', text: ({ scopes }) => (scopes as string[]).join(',') || 'all' },
      { title: 'USER', text: ({ machine, user }) => `${user ?? ''}${machine ? ' (machine)' : ''}` },
      { title: 'EXPIRES', text: ({ expires: end }) => String(end ?? 'never') },
      { title: 'LAST USED', text: ({ lastUsed }) => String(lastUsed ?? 'never') },
    ],
    run: listKeys,
  }),
  command({
    path: ['key', 'revoke'],
    summary: 'Revoke a key, at once',
    args: {
      workspace: workspaceArg,
      key: { schema: z.string().trim().min(1), description: 'The id of the key, from key list.' },
    },
    run: async ({ app }: Context, { workspace: ref, key }) => {
      const workspace = await app.services.workspaces.get(ref);
      await app.services.tokens.delete(workspace.id, key);
      return { id: key, workspace: workspace.slug };
    },
    print: ({ id }) => `The key ${id} is revoked.`,
  }),
];

interface KeyInput {
  workspace: string;
  name: string;
  scopes: string[];
  machine: boolean;
  expires: string | undefined;
}

async function createKey({ services, clock }: Context['app'], input: KeyInput) {
  const workspace = await services.workspaces.get(input.workspace);
  const owner = await services.users.findOwner(workspace.id);
  if (!owner) throw new AppError('conflict', `The workspace ${workspace.slug} has no owner.`);
  const expiresAt = input.expires === undefined ? null : expiryMs(input.expires, clock.now());
  const { id, key } = await services.tokens.create(
    { userId: owner.id, role: owner.role, workspaceId: workspace.id },
    { name: input.name, scopes: input.scopes, isMachine: input.machine, expiresAt },
  );
  return {
    id,
    key,
    workspace: workspace.slug,
    name: input.name,
    scopes: input.scopes,
    expires: expiresAt === null ? null : isoTime(expiresAt),
  };
}

/** A date alone means its first moment in UTC. */
export function expiryMs(text: string, nowMs: number): number {
  const unitMs = UNIT_MS[text.at(-1) ?? ''];
  const atMs = unitMs === undefined ? Date.parse(text) : nowMs + Number.parseInt(text, 10) * unitMs;
  if (atMs <= nowMs) throw invalid('expires', 'must be in the future');
  return atMs;
}

async function listKeys(
  { app, row, signal }: Context,
  { workspace: ref }: { workspace: string },
): Promise<void> {
  const { id } = await app.services.workspaces.get(ref);
  for (let page = 1; ; page++) {
    signal.throwIfAborted();
    const found = await app.services.tokens.list(
      id,
      {},
      { sortBy: 'createdAt', sortOrder: 'asc', pageSize: PAGE_SIZE, page },
    );
    for (const token of found) await row(present(token));
    if (found.length < PAGE_SIZE) return;
  }
}

function present(token: Token) {
  const time = (ms: number | null) => (ms === null ? null : isoTime(ms));
  return {
    id: token.id,
    name: token.name,
    partialKey: token.partialKey,
    scopes: token.scopes,
    user: token.user.name,
    machine: token.user.isMachine,
    expires: time(token.expiresAt),
    lastUsed: time(token.lastUsedAt),
    createdAt: isoTime(token.createdAt),
  };
}
