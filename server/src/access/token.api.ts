// Keys over HTTP.
import { z } from 'zod';
import { deletedId, idParams, type Operation, operation, requires } from '../http/operation.ts';
import { listQuery } from '../http/pagination.ts';
import { type Clock, isoTime } from '../kernel/clock.ts';
import { invalid } from '../kernel/errors.ts';
import { SCOPE_NAMES } from './rights.ts';
import type { Token } from './token.ts';
import type { Tokens } from './tokens.ts';

const name = z.string().trim().min(1).max(50).describe('What the key is for.');
const scopes = z
  .array(z.enum(SCOPE_NAMES))
  .max(50)
  .describe('What the key may do. None: all that its owner may.');

const tokenSchema = z.object({
  id: z.string(),
  name: z.string(),
  partialKey: z.string().describe('The first and last characters of the key.'),
  scopes: z.array(z.string()),
  expires: z.iso.datetime().nullable(),
  lastUsed: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  user: z.object({
    id: z.string(),
    name: z.string().nullable(),
    image: z.string().nullable(),
    isMachine: z.boolean(),
  }),
});

const READ = requires('tokens.read');
const WRITE = requires('tokens.write');
const PARAMS = idParams('key');

export function tokenOperations({ tokens, clock }: { tokens: Tokens; clock: Clock }): Operation[] {
  return [
    operation({
      id: 'listTokens',
      method: 'GET',
      path: '/tokens',
      group: 'Keys',
      summary: 'List API keys',
      access: READ,
      query: z.object({
        userId: z.string().optional().describe('Only the keys of this user.'),
        ...listQuery({ sortBy: ['lastUsed', 'createdAt', 'name'], defaultOrder: 'desc' }),
      }),
      response: {
        status: 200,
        description: 'The keys, without their secrets.',
        schema: z.array(tokenSchema),
      },
      run: async ({ query }, actor) => {
        const found = await tokens.list(actor.workspaceId, { userId: query.userId }, query);
        return found.map(present);
      },
    }),
    operation({
      id: 'createToken',
      method: 'POST',
      path: '/tokens',
      group: 'Keys',
      summary: 'Create an API key',
      access: WRITE,
      body: z.object({
        name,
        isMachine: z.boolean().default(false).describe('Make a machine user of its own for the key.'),
        scopes: scopes.default([]),
        expires: z.iso
          .datetime({ offset: true })
          .nullish()
          .describe('When the key stops working. Never, if absent.'),
      }),
      response: {
        status: 200,
        description: 'The key. It is shown this once.',
        schema: z.object({ token: z.string() }),
      },
      secret: true,
      run: async ({ body }, actor) => {
        const expiresAt = body.expires ? Date.parse(body.expires) : null;
        if (expiresAt !== null && expiresAt <= clock.now()) throw invalid('expires', 'must be in the future');
        const { key } = await tokens.create(actor, { ...body, expiresAt });
        return { token: key };
      },
    }),
    operation({
      id: 'getToken',
      method: 'GET',
      path: '/tokens/{id}',
      group: 'Keys',
      summary: 'Retrieve an API key',
      access: READ,
      params: PARAMS,
      response: { status: 200, description: 'The key, without its secret.', schema: tokenSchema },
      run: async ({ params }, actor) => present(await tokens.get(actor.workspaceId, params.id)),
    }),
    operation({
      id: 'updateToken',
      method: 'PATCH',
      path: '/tokens/{id}',
      group: 'Keys',
      summary: 'Update an API key',
      access: WRITE,
      params: PARAMS,
      body: z.object({ name, scopes }),
      response: { status: 200, description: 'The key as it is now.', schema: tokenSchema },
      run: async ({ params, body }, actor) => present(await tokens.update(actor, params.id, body)),
    }),
    operation({
      id: 'deleteToken',
      method: 'DELETE',
      path: '/tokens/{id}',
      group: 'Keys',
      summary: 'Revoke an API key',
      access: WRITE,
      params: PARAMS,
      response: { status: 200, description: 'The key is revoked.', schema: deletedId },
      run: async ({ params }, actor) => {
        await tokens.delete(actor.workspaceId, params.id);
        return { id: params.id };
      },
    }),
  ];
}

function present(token: Token): z.input<typeof tokenSchema> {
  return {
    id: token.id,
    name: token.name,
    partialKey: token.partialKey,
    scopes: [...token.scopes],
    expires: token.expiresAt === null ? null : isoTime(token.expiresAt),
    lastUsed: token.lastUsedAt === null ? null : isoTime(token.lastUsedAt),
    createdAt: isoTime(token.createdAt),
    updatedAt: isoTime(token.updatedAt),
    user: token.user,
  };
}
