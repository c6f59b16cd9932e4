// A folder of links: its type, and who may do what in it.
import { type Actor, planIncludes } from '../http/operation.ts';

export const ACCESS_LEVELS = ['write', 'read'] as const;
/** What every member of the workspace may do; null: nothing, the folder is private. */
export type AccessLevel = (typeof ACCESS_LEVELS)[number] | null;

export const FOLDER_ROLES = ['owner', 'editor', 'viewer'] as const;
export type FolderRole = (typeof FOLDER_ROLES)[number];

export const FOLDER_TYPES = ['default', 'mega'] as const;
export type FolderType = (typeof FOLDER_TYPES)[number];

/** read: see it and its links. write: make, change and delete links in it. manage: the folder itself and its users. */
export type FolderNeed = 'read' | 'write' | 'manage';

export interface Folder {
  readonly id: string;
  readonly workspaceId: string;
  readonly name: string;
  readonly description: string | null;
  readonly type: FolderType;
  readonly accessLevel: AccessLevel;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A person's own role in a folder. */
export interface FolderUser {
  readonly userId: string;
  readonly name: string | null;
  readonly email: string | null;
  readonly role: FolderRole;
  readonly createdAt: number;
}

const MAY: Readonly<Record<FolderRole, readonly FolderNeed[]>> = {
  owner: ['read', 'write', 'manage'],
  editor: ['read', 'write'],
  viewer: ['read'],
};

/** Workspace owners may do everything, and below the business plan there are no rights per folder. */
export function mayEverything(actor: Pick<Actor, 'role' | 'plan'>): boolean {
  return actor.role === 'owner' || !planIncludes(actor.plan, 'business');
}

/** A role of one's own goes before what the folder grants to everybody. */
export function roleIn(accessLevel: AccessLevel, personal: FolderRole | undefined): FolderRole | undefined {
  if (personal) return personal;
  if (accessLevel === null) return undefined;
  return accessLevel === 'write' ? 'editor' : 'viewer';
}

export function mayIn(
  actor: Pick<Actor, 'role' | 'plan'>,
  folder: { readonly accessLevel: AccessLevel; readonly personal: FolderRole | undefined },
  need: FolderNeed,
): boolean {
  if (mayEverything(actor)) return true;
  const role = roleIn(folder.accessLevel, folder.personal);
  return role !== undefined && MAY[role].includes(need);
}
