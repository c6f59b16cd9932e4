// What a first start makes: one workspace without limits, its owner and the owner's key.
import type { Config } from './config.ts';
import type { Services } from './operations.ts';
import type { Workspace } from './workspaces/workspace.ts';

export interface FirstWorkspace {
  readonly workspace: Workspace;
  /** The key, which nothing can show again. */
  readonly key: string;
  /** The operator chose the key and need not be shown it. */
  readonly chosen: boolean;
}

/** Makes the first workspace when there is none; several nodes may try at once. */
export async function ensureFirstWorkspace(
  { workspaces, tokens }: Services,
  config: Pick<Config, 'apiKey'>,
  atomically: <T>(work: () => Promise<T>) => Promise<T>,
): Promise<FirstWorkspace | undefined> {
  if (await workspaces.exists()) return undefined;
  return atomically(async () => {
    const { workspace, ownerId } = await workspaces.create({ name: 'Main', plan: 'enterprise' });
    const owner = { userId: ownerId, role: 'owner', workspaceId: workspace.id } as const;
    const request = { name: 'First key', scopes: [], isMachine: false, expiresAt: null };
    const { key } = await tokens.create(owner, request, config.apiKey);
    return { workspace, key, chosen: config.apiKey !== undefined };
  });
}
