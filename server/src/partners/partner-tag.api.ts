// Partner tags over HTTP.
import { z } from 'zod';
import { deletedId, idParams, type Operation, operation, requires } from '../http/operation.ts';
import { listQuery } from '../http/pagination.ts';
import { ANYBODY } from './partner-fields.ts';
import type { PartnerTag, PartnerTags } from './partner-tags.ts';

const tagSchema = z
  .object({ id: z.string(), name: z.string() })
  .meta({ id: 'PartnerTag', description: 'A name to sort partners by.' });

const name = z.string().trim().min(1).max(190).describe('Unique in the program, whatever its case.');
const partnerIds = z.array(z.string()).min(1).max(100);
const counted = z.object({ count: z.number().describe('How many partners it made a difference to.') });
const WRITE = requires('partners.write', 'business');
const PARAMS = idParams('partner tag');

export function partnerTagOperations({ partnerTags: tags }: { partnerTags: PartnerTags }): Operation[] {
  return [...crudOperations(tags), ...markOperations(tags)];
}

function crudOperations(tags: PartnerTags): Operation[] {
  return [
    operation({
      id: 'listPartnerTags',
      method: 'GET',
      path: '/partners/tags',
      group: 'Partner tags',
      summary: 'List partner tags',
      access: ANYBODY,
      query: z.object({
        search: z.string().trim().max(190).optional().describe('Part of the name, in any case.'),
        ids: z.array(z.string()).max(1000).optional().describe('Only these tags.'),
        ...listQuery({ sortBy: ['createdAt', 'name'] }),
      }),
      response: { status: 200, description: 'The tags.', schema: z.array(tagSchema) },
      run: async ({ query }, actor) => (await tags.list(actor, query, query)).map(present),
    }),
    operation({
      id: 'createPartnerTag',
      method: 'POST',
      path: '/partners/tags',
      group: 'Partner tags',
      summary: 'Create a partner tag',
      access: WRITE,
      body: z.object({ name }),
      before: (actor) => tags.assertRoom(actor),
      response: { status: 201, description: 'The new tag.', schema: tagSchema },
      run: async ({ body }, actor) => present(await tags.create(actor, body.name)),
    }),
    operation({
      id: 'updatePartnerTag',
      method: 'PATCH',
      path: '/partners/tags/{id}',
      group: 'Partner tags',
      summary: 'Rename a partner tag',
      access: WRITE,
      params: PARAMS,
      body: z.object({ name }),
      response: { status: 200, description: 'The tag as it is now.', schema: tagSchema },
      run: async ({ params, body }, actor) => present(await tags.rename(actor, params.id, body.name)),
    }),
    operation({
      id: 'deletePartnerTag',
      method: 'DELETE',
      path: '/partners/tags/{id}',
      group: 'Partner tags',
      summary: 'Delete a partner tag',
      description: 'Partners that carry it stay and lose it.',
      access: WRITE,
      params: PARAMS,
      response: { status: 200, description: 'The tag is gone.', schema: deletedId },
      run: async ({ params }, actor) => ({ id: (await tags.delete(actor, params.id)).id }),
    }),
  ];
}

function markOperations(tags: PartnerTags): Operation[] {
  return [
    operation({
      id: 'tagPartners',
      method: 'POST',
      path: '/partners/tags/{id}/partners',
      group: 'Partner tags',
      summary: 'Give partners a tag',
      access: WRITE,
      params: PARAMS,
      body: z.object({ partnerIds }),
      response: { status: 200, description: 'Done.', schema: counted },
      run: async ({ params, body }, actor) => ({
        count: await tags.add(actor, params.id, body.partnerIds),
      }),
    }),
    operation({
      id: 'untagPartners',
      method: 'DELETE',
      path: '/partners/tags/{id}/partners',
      group: 'Partner tags',
      summary: 'Take a tag off partners',
      access: WRITE,
      params: PARAMS,
      query: z.object({ partnerIds }),
      response: { status: 200, description: 'Done.', schema: counted },
      run: async ({ params, query }, actor) => ({
        count: await tags.remove(actor, params.id, query.partnerIds),
      }),
    }),
  ];
}

function present({ id, name }: PartnerTag): z.input<typeof tagSchema> {
  return { id, name };
}
