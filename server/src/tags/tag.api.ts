// Tags over HTTP.
import { z } from 'zod';
import { deletedId, idParams, type Operation, operation, requires } from '../http/operation.ts';
import { listQuery } from '../http/pagination.ts';
import { TAG_COLORS, type Tag } from './tag.ts';
import type { Tags } from './tags.ts';

export const tagSchema = z
  .object({ id: z.string(), name: z.string(), color: z.enum(TAG_COLORS) })
  .meta({ id: 'Tag', description: 'A tag.' });

const name = z.string().trim().min(1).max(190);
const color = z.enum(TAG_COLORS).optional();
const search = z.string().trim().max(190).optional().describe('Part of the name, in any case.');

/** `tag` is another word for `name` that older clients use; it wins where both are given. */
const createBody = z
  .object({
    name: name.optional().describe('The name, unique in the workspace whatever its case.'),
    tag: name.optional().describe('Another word for name.'),
    color: color.describe('Any but pink, at random, when absent.'),
  })
  .superRefine((body, context) => {
    if (body.name === undefined && body.tag === undefined) {
      context.addIssue({
        code: 'invalid_type',
        expected: 'string',
        path: ['name'],
        message: 'a name is required',
      });
    }
  });

const PARAMS = idParams('tag');
const READ = requires('tags.read');
const WRITE = requires('tags.write');

export function tagOperations({ tags }: { tags: Tags }): Operation[] {
  return [
    operation({
      id: 'getTags',
      method: 'GET',
      path: '/tags',
      group: 'Tags',
      summary: 'List tags',
      access: READ,
      query: z.object({
        search,
        ids: z.array(z.string()).max(1000).optional().describe('Only these tags.'),
        ...listQuery({ sortBy: ['name', 'createdAt'] }),
      }),
      response: { status: 200, description: 'The tags.', schema: z.array(tagSchema) },
      run: async ({ query }, actor) => {
        const found = await tags.list(actor.workspaceId, { search: query.search, ids: query.ids }, query);
        return found.map(present);
      },
    }),
    operation({
      id: 'getTagsCount',
      method: 'GET',
      path: '/tags/count',
      group: 'Tags',
      summary: 'Count tags',
      access: READ,
      query: z.object({ search }),
      response: { status: 200, description: 'How many tags there are.', schema: z.number() },
      run: ({ query }, actor) => tags.count(actor.workspaceId, { search: query.search }),
    }),
    operation({
      id: 'createTag',
      method: 'POST',
      path: '/tags',
      group: 'Tags',
      summary: 'Create a tag',
      access: WRITE,
      body: createBody,
      before: (actor) => tags.assertRoom(actor),
      response: { status: 201, description: 'The new tag.', schema: tagSchema },
      run: async ({ body }, actor) => {
        const name = (body.tag ?? body.name) as string;
        return present(await tags.create(actor, { name, color: body.color }));
      },
    }),
    operation({
      id: 'updateTag',
      method: 'PATCH',
      aliases: ['PUT'],
      path: '/tags/{id}',
      group: 'Tags',
      summary: 'Update a tag',
      description: 'Fields that are absent stay as they are.',
      access: WRITE,
      params: PARAMS,
      body: z.object({
        name: name.optional(),
        tag: name.optional().describe('Another word for name.'),
        color,
      }),
      response: { status: 200, description: 'The tag as it is now.', schema: tagSchema },
      run: async ({ params, body }, actor) => {
        const change = { name: body.tag ?? body.name, color: body.color };
        return present(await tags.update(actor.workspaceId, params.id, change));
      },
    }),
    operation({
      id: 'deleteTag',
      method: 'DELETE',
      path: '/tags/{id}',
      group: 'Tags',
      summary: 'Delete a tag',
      description: 'Links that carry it stay and lose it.',
      access: WRITE,
      params: PARAMS,
      response: { status: 200, description: 'The tag is gone.', schema: deletedId },
      run: async ({ params }, actor) => {
        const { id } = await tags.delete(actor.workspaceId, params.id);
        return { id };
      },
    }),
  ];
}

function present({ id, name, color }: Tag): z.input<typeof tagSchema> {
  return { id, name, color };
}
