// The list of all operations. The router, the OpenAPI document and the tests over every operation read it.
import { tokenOperations } from './access/token.api.ts';
import type { Tokens } from './access/tokens.ts';
import type { Users } from './access/users.ts';
import type { Operation } from './http/operation.ts';
import type { Clock } from './kernel/clock.ts';
import { tagOperations } from './tags/tag.api.ts';
import type { Tags } from './tags/tags.ts';
import { workspaceOperations } from './workspaces/workspace.api.ts';
import type { Workspaces } from './workspaces/workspaces.ts';

export interface Services {
  readonly clock: Clock;
  readonly tokens: Tokens;
  readonly users: Users;
  readonly workspaces: Workspaces;
  readonly tags: Tags;
}

export function allOperations(services: Services): Operation[] {
  return [...tagOperations(services), ...workspaceOperations(services), ...tokenOperations(services)];
}
