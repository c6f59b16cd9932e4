// Look-ups for people who choose a key: whether it is free, and one that is. Open to all, in small windows.
import { z } from 'zod';
import { type Operation, operation, planIncludes } from '../http/operation.ts';
import { AppError } from '../kernel/errors.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import type { Links } from './links.ts';

const THROTTLE = { limit: 10, windowMs: 10_000, by: 'ip' } as const;

const domain = z
  .string()
  .trim()
  .min(1)
  .max(190)
  .regex(/^[^\s/?#@\\]+$/, 'must be a domain name');

export interface LinkKeyApiParts {
  readonly links: Links;
  readonly workspaces: Pick<Workspaces, 'get'>;
}

export function linkKeyOperations({ links, workspaces }: LinkKeyApiParts): Operation[] {
  return [
    operation({
      id: 'checkLinkExists',
      method: 'GET',
      path: '/links/exists',
      group: 'Links',
      summary: 'Find out whether a key is free',
      description:
        'A key that is taken is 409; one that no link of the domain can have is refused as in a new link.',
      access: { by: 'nobody' },
      throttle: THROTTLE,
      query: z.object({
        domain: domain.describe('The domain of the link.'),
        key: z.string().min(1).max(190).describe('The key to look for.'),
        workspaceId: z
          .string()
          .max(190)
          .optional()
          .describe('The workspace that wants it: its plan may allow shorter keys.'),
      }),
      response: { status: 200, description: 'The key is free.', schema: z.object({ error: z.null() }) },
      run: async ({ query }) => {
        await links.assertKeyFree(
          query.domain,
          query.key,
          await mayHaveShortKeys(workspaces, query.workspaceId),
        );
        return { error: null };
      },
    }),
    operation({
      id: 'getRandomLinkKey',
      method: 'GET',
      path: '/links/random',
      group: 'Links',
      summary: 'Get a random key that is free',
      access: { by: 'nobody' },
      throttle: THROTTLE,
      query: z.object({ domain: domain.describe('The domain of the link.') }),
      response: { status: 200, description: 'The key.', schema: z.string() },
      run: ({ query }) => links.findFreeKey(query.domain),
    }),
  ];
}

/** Whoever does not know the id learns nothing: no plan is told by name, nor whether there is such a workspace. */
async function mayHaveShortKeys(
  workspaces: Pick<Workspaces, 'get'>,
  id: string | undefined,
): Promise<boolean> {
  if (!id?.startsWith('ws_')) return false;
  try {
    return planIncludes((await workspaces.get(id)).plan, 'pro');
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return false;
    throw error;
  }
}
