// Folders over HTTP.
import { z } from 'zod';
import { deletedId, idParams, type Operation, operation, requires } from '../http/operation.ts';
import { listQuery } from '../http/pagination.ts';
import { isoTime } from '../kernel/clock.ts';
import { ACCESS_LEVELS, FOLDER_ROLES, FOLDER_TYPES, type Folder, type FolderUser } from './folder.ts';
import type { Folders } from './folders.ts';

const accessLevelSchema = z
  .enum(ACCESS_LEVELS)
  .nullable()
  .describe(
    'What every member may do with the links in it; null: it is private. Personal roles go before it.',
  );

const folderSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    type: z.enum(FOLDER_TYPES),
    accessLevel: accessLevelSchema,
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .describe('A folder of links.');

const folderUserSchema = z
  .object({
    userId: z.string(),
    name: z.string().nullable(),
    email: z.string().nullable(),
    role: z.enum(FOLDER_ROLES),
    createdAt: z.iso.datetime(),
  })
  .describe('A personal role in a folder.');

const name = z
  .string()
  .trim()
  .min(1)
  .max(190)
  .describe('The name, unique in the workspace whatever its case.');
const fields = {
  description: z.string().trim().max(500).nullable().optional(),
  accessLevel: accessLevelSchema
    .optional()
    .describe(
      'What every member may do with the links in it; null: it is private. Others than write need the plan business or higher.',
    ),
};

const search = z.string().trim().max(190).optional().describe('Part of the name, in any case.');

const PARAMS = idParams('folder');
const READ = requires('folders.read');
const READ_ONE = requires('folders.read', 'pro');
const WRITE = requires('folders.write', 'pro');
/** Below this plan there are no rights per folder. */
const MANAGE_USERS = requires('folders.write', 'business');

export function folderOperations({ folders }: { folders: Folders }): Operation[] {
  return [...collectionOperations(folders), ...singleOperations(folders), ...userOperations(folders)];
}

function collectionOperations(folders: Folders): Operation[] {
  return [
    operation({
      id: 'listFolders',
      method: 'GET',
      path: '/folders',
      group: 'Folders',
      summary: 'List folders',
      description: 'Private folders are listed for workspace owners and for those who have a role in them.',
      access: READ,
      query: z.object({ search, ...listQuery({ sortBy: ['createdAt', 'name'], defaultPageSize: 50 }) }),
      response: { status: 200, description: 'The folders.', schema: z.array(folderSchema) },
      run: async ({ query }, actor) => (await folders.list(actor, query, query)).map(present),
    }),
    operation({
      id: 'countFolders',
      method: 'GET',
      path: '/folders/count',
      group: 'Folders',
      summary: 'Count folders',
      access: READ,
      query: z.object({ search }),
      response: { status: 200, description: 'How many folders there are.', schema: z.number() },
      run: ({ query }, actor) => folders.count(actor, query),
    }),
    operation({
      id: 'createFolder',
      method: 'POST',
      path: '/folders',
      group: 'Folders',
      summary: 'Create a folder',
      description: 'Whoever creates it becomes its owner.',
      access: WRITE,
      body: z.object({ name, ...fields }),
      before: (actor) => folders.assertRoom(actor),
      response: { status: 201, description: 'The new folder.', schema: folderSchema },
      run: async ({ body }, actor) => present(await folders.create(actor, body)),
    }),
  ];
}

function singleOperations(folders: Folders): Operation[] {
  return [
    operation({
      id: 'getFolder',
      method: 'GET',
      path: '/folders/{id}',
      group: 'Folders',
      summary: 'Get a folder',
      access: READ_ONE,
      params: PARAMS,
      response: { status: 200, description: 'The folder.', schema: folderSchema },
      run: async ({ params }, actor) => present(await folders.get(actor, params.id)),
    }),
    operation({
      id: 'updateFolder',
      method: 'PATCH',
      path: '/folders/{id}',
      group: 'Folders',
      summary: 'Update a folder',
      description:
        'Fields that are absent stay as they are. Needs the role owner in the folder or in the workspace.',
      access: WRITE,
      params: PARAMS,
      body: z.object({ name: name.optional(), ...fields }),
      response: { status: 200, description: 'The folder as it is now.', schema: folderSchema },
      run: async ({ params, body }, actor) => present(await folders.update(actor, params.id, body)),
    }),
    operation({
      id: 'deleteFolder',
      method: 'DELETE',
      path: '/folders/{id}',
      group: 'Folders',
      summary: 'Delete a folder',
      description:
        'Links in it stay and are then in no folder. Needs the role owner in the folder or in the workspace.',
      access: WRITE,
      params: PARAMS,
      response: { status: 200, description: 'The folder is gone.', schema: deletedId },
      run: async ({ params }, actor) => {
        const { id } = await folders.delete(actor, params.id);
        return { id };
      },
    }),
  ];
}

function userOperations(folders: Folders): Operation[] {
  return [
    operation({
      id: 'listFolderUsers',
      method: 'GET',
      path: '/folders/{id}/users',
      group: 'Folders',
      summary: 'List the personal roles in a folder',
      description: 'Needs the role owner in the folder or in the workspace.',
      access: MANAGE_USERS,
      params: PARAMS,
      query: z.object(listQuery({ sortBy: ['createdAt', 'name'], defaultPageSize: 50 })),
      response: { status: 200, description: 'The personal roles.', schema: z.array(folderUserSchema) },
      run: async ({ params, query }, actor) =>
        (await folders.listUsers(actor, params.id, query)).map(presentUser),
    }),
    operation({
      id: 'updateFolderUser',
      method: 'PUT',
      path: '/folders/{id}/users/{userId}',
      group: 'Folders',
      summary: 'Set the role of a member in a folder',
      description: 'Needs the role owner in the folder or in the workspace.',
      access: MANAGE_USERS,
      params: PARAMS.extend({ userId: z.string().min(1).describe('The id of a member of the workspace.') }),
      body: z.object({
        role: z
          .enum(FOLDER_ROLES)
          .nullable()
          .describe('null takes the personal role away: what the folder grants to everybody applies.'),
      }),
      response: {
        status: 200,
        description: 'The role as it is now.',
        schema: z.object({ folderId: z.string(), userId: z.string(), role: z.enum(FOLDER_ROLES).nullable() }),
      },
      run: async ({ params, body }, actor) => {
        await folders.setUserRole(actor, params.id, params.userId, body.role);
        return { folderId: params.id, userId: params.userId, role: body.role };
      },
    }),
  ];
}

function present({ workspaceId: _, createdAt, updatedAt, ...shown }: Folder): z.input<typeof folderSchema> {
  return { ...shown, createdAt: isoTime(createdAt), updatedAt: isoTime(updatedAt) };
}

function presentUser({ createdAt, ...shown }: FolderUser): z.input<typeof folderUserSchema> {
  return { ...shown, createdAt: isoTime(createdAt) };
}
