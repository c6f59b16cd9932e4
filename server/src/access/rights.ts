// Who may do what: the permissions of each role, what each scope of a key grants, and how the two combine.
import { type Permission, ROLES, type Role } from '../http/operation.ts';

const READABLE = [
  'links',
  'tags',
  'folders',
  'domains',
  'analytics',
  'workspaces',
  'tokens',
  'webhooks',
  'groups',
  'programs',
  'partners',
  'messages',
  'integrations',
  'oauth_apps',
] as const;

const reads = (...resources: string[]) => resources.map((resource): Permission => `${resource}.read`);
const writes = (...resources: string[]) => resources.map((resource): Permission => `${resource}.write`);

const EVERYBODY = reads(...READABLE);
const EDITORS = writes(
  'links',
  'tags',
  'folders',
  'groups',
  'programs',
  'partners',
  'messages',
  'integrations',
);
const PAYERS = writes('payouts', 'billing');

const ROLE_PERMISSIONS: Record<Role, ReadonlySet<string>> = {
  owner: new Set([
    ...EVERYBODY,
    ...EDITORS,
    ...PAYERS,
    ...writes('workspaces', 'domains', 'tokens', 'webhooks', 'oauth_apps'),
  ]),
  member: new Set([...EVERYBODY, ...EDITORS]),
  viewer: new Set(EVERYBODY),
  billing: new Set([...EVERYBODY, ...PAYERS]),
};

const ALL: readonly Role[] = ROLES;
const EDITING: readonly Role[] = ['owner', 'member'];
const OWNING: readonly Role[] = ['owner'];

interface Scope {
  readonly grants: readonly Permission[];
  /** Roles that may put this scope on a key of theirs. */
  readonly roles: readonly Role[];
}

/** What the scopes for everything open. */
const API_RESOURCES = [
  'links',
  'tags',
  'folders',
  'domains',
  'workspaces',
  'groups',
  'programs',
  'partners',
] as const;

const SCOPES: ReadonlyMap<string, Scope> = new Map<string, Scope>([
  ...[...API_RESOURCES, 'analytics', 'webhooks'].map((r): [string, Scope] => [
    `${r}.read`,
    { grants: reads(r), roles: ALL },
  ]),
  ...['links', 'tags', 'folders', 'groups', 'programs', 'partners'].map((r): [string, Scope] => [
    `${r}.write`,
    { grants: [...reads(r), ...writes(r)], roles: EDITING },
  ]),
  ...['domains', 'workspaces', 'webhooks'].map((r): [string, Scope] => [
    `${r}.write`,
    { grants: [...reads(r), ...writes(r)], roles: OWNING },
  ]),
  ['apis.read', { grants: reads(...API_RESOURCES, 'analytics'), roles: ALL }],
  [
    'apis.all',
    {
      grants: [...reads(...API_RESOURCES, 'analytics'), ...writes(...API_RESOURCES)],
      roles: EDITING,
    },
  ],
]);

/** A key without scopes has all the rights of its owner's role, one with scopes only what both allow. */
export function effectivePermissions(role: Role, scopes: readonly string[]): ReadonlySet<string> {
  const byRole = ROLE_PERMISSIONS[role];
  if (scopes.length === 0) return byRole;
  const granted = scopes.flatMap((scope) => SCOPES.get(scope)?.grants ?? []);
  return new Set(granted.filter((permission) => byRole.has(permission)));
}

export const SCOPE_NAMES = [...SCOPES.keys()];

/** The first scope that a key of this role may not have. */
export function findScopeBeyond(role: Role, scopes: readonly string[]): string | undefined {
  return scopes.find((scope) => !SCOPES.get(scope)?.roles.includes(role));
}
