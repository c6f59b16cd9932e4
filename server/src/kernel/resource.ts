// The rule for a resource named in a path: unknown is not found, another workspace's is refused and nothing
// more is said about it.
import { AppError } from './errors.ts';

export function owned<T extends { workspaceId: string }>(
  resource: T | undefined,
  workspaceId: string,
  what: string,
): T {
  if (!resource) throw new AppError('not_found', `There is no such ${what}.`);
  if (resource.workspaceId !== workspaceId) {
    throw new AppError('forbidden', `This ${what} belongs to another workspace.`);
  }
  return resource;
}
