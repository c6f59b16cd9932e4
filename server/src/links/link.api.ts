// Links over HTTP.
import { z } from 'zod';
import { type Actor, deletedId, type Operation, operation, parseInput, requires } from '../http/operation.ts';
import { checkCursor, cursorListQuery } from '../http/pagination.ts';
import { AppError, invalid } from '../kernel/errors.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { type Link, MAX_BULK, ROOT_KEY, stripExternalPrefix } from './link.ts';
import { GROUPINGS } from './link-count.store.ts';
import { bulkUpdateData, createBody, type LinkDraft, updateBody } from './link-draft.ts';
import { linkKeyOperations } from './link-key.api.ts';
import type { LinkLists } from './link-lists.ts';
import { linkSchema, presentLink, type WireLink } from './link-wire.ts';
import type { Outcome } from './link-writes.ts';
import type { Links } from './links.ts';

const READ = requires('links.read');
const WRITE = requires('links.write');
const PARAMS = z.object({
  linkId: z.string().min(1).describe('The id of the link, or ext_ and your own id of it.'),
});

const text = z.string().max(1000).optional();
const filters = {
  domain: text.describe('Only links of this domain.'),
  tagIds: z.array(z.string()).max(1000).optional().describe('Links with any of these tags.'),
  tagId: text.describe('Links with this tag.'),
  tagNames: z.array(z.string()).max(1000).optional().describe('Links with any of these tags; ids win.'),
  folderId: text.describe('Only links of this folder; unsorted: links in no folder.'),
  search: z
    .string()
    .trim()
    .max(1000)
    .optional()
    .describe('Part of the short link or of the destination, in any case.'),
  userId: text.describe('Only links that this user made.'),
  tenantId: text.describe('Only links of this tenant.'),
  showArchived: z.boolean().default(false).describe('Include archived links.'),
  withTags: z.boolean().default(false).describe('Only links that have a tag.'),
};

const listQuery = z.object({
  ...filters,
  ...cursorListQuery({ sortBy: ['createdAt', 'clicks', 'saleAmount', 'lastClicked'], defaultOrder: 'desc' }),
});

const linkError = z
  .object({ link: z.unknown(), error: z.string(), code: z.string() })
  .describe('What was refused, and why.');

/** Items are read one by one, so that one that does not fit refuses itself only; the document shows their form. */
const bulkCreateBody = z
  .array(z.unknown().meta(documented(createBody)))
  .min(1)
  .max(MAX_BULK);

const bulkUpdateBody = z.object({
  linkIds: z.array(z.string()).max(MAX_BULK).optional().describe('Ids of links; they win over externalIds.'),
  externalIds: z
    .array(z.string())
    .max(MAX_BULK)
    .optional()
    .describe('Your own ids of links, with or without ext_.'),
  data: bulkUpdateData,
});

export interface LinkApiParts {
  readonly links: Links;
  readonly linkLists: LinkLists;
  readonly workspaces: Workspaces;
}

export function linkOperations(parts: LinkApiParts): Operation[] {
  // Names of their own before the operations that take any id in the same place.
  return [
    ...linkKeyOperations(parts),
    ...readOperations(parts),
    ...bulkOperations(parts),
    ...writeOperations(parts),
  ];
}

function readOperations({ links, linkLists }: LinkApiParts): Operation[] {
  return [
    operation({
      id: 'getLinks',
      method: 'GET',
      path: '/links',
      group: 'Links',
      summary: 'List links',
      description:
        'Without a folder and without search, domain, tag or tenant, only links outside folders are listed.',
      access: READ,
      query: listQuery,
      response: { status: 200, description: 'The links.', schema: z.array(linkSchema) },
      run: async ({ query, request }, actor) => {
        const found = await linkLists.list(actor, query, checkCursor(query));
        return found.map((link) => presentLink(link, request.origin));
      },
    }),
    operation({
      id: 'getLinksCount',
      method: 'GET',
      path: '/links/count',
      group: 'Links',
      summary: 'Count links',
      access: READ,
      query: z.object({
        ...filters,
        groupBy: z.enum(GROUPINGS).optional().describe('Count per value of this field.'),
      }),
      response: {
        status: 200,
        description: 'The count, or the counts per group, largest first.',
        schema: z.union([z.number(), z.array(z.looseObject({ _count: z.number() }))]),
      },
      run: async ({ query }, actor) => {
        const { groupBy } = query;
        if (!groupBy) return linkLists.count(actor, query);
        const groups = await linkLists.countBy(actor, query, groupBy);
        return groups.map(({ value, count }) => ({ [groupBy]: value, _count: count }));
      },
    }),
    operation({
      id: 'getLinkInfo',
      method: 'GET',
      path: '/links/info',
      group: 'Links',
      summary: 'Retrieve a link by domain and key, by id, or by your own id',
      access: READ,
      query: z.object({
        domain: z
          .string()
          .trim()
          .min(1)
          .max(190)
          .optional()
          .describe('The domain; alone, it means its root link.'),
        key: z.string().min(1).max(190).optional().describe('The key, together with the domain.'),
        linkId: z.string().min(1).optional().describe('The id of the link; it wins.'),
        externalId: z.string().min(1).optional().describe('Your own id of the link, with ext_ in front.'),
      }),
      response: { status: 200, description: 'The link.', schema: linkSchema },
      run: async ({ query, request }, actor) =>
        presentLink(await findByInfo(links, actor, query), request.origin),
    }),
    operation({
      id: 'getLink',
      method: 'GET',
      path: '/links/{linkId}',
      group: 'Links',
      summary: 'Retrieve a link',
      access: READ,
      params: PARAMS,
      response: { status: 200, description: 'The link.', schema: linkSchema },
      run: async ({ params, request }, actor) =>
        presentLink(await links.get(actor, params.linkId), request.origin),
    }),
  ];
}

function writeOperations({ links, workspaces }: LinkApiParts): Operation[] {
  return [
    operation({
      id: 'createLink',
      method: 'POST',
      path: '/links',
      group: 'Links',
      summary: 'Create a link',
      access: WRITE,
      body: createBody,
      bodyLimitBytes: IMAGE_BODY_BYTES,
      before: (actor) => assertQuotaLeft(workspaces, actor),
      response: { status: 200, description: 'The new link.', schema: linkSchema },
      run: async ({ body, request }, actor) => presentLink(await links.create(actor, body), request.origin),
    }),
    operation({
      id: 'upsertLink',
      method: 'PUT',
      path: '/links/upsert',
      group: 'Links',
      summary: 'Create a link, or update the one with the same destination',
      access: WRITE,
      body: createBody,
      bodyLimitBytes: IMAGE_BODY_BYTES,
      response: { status: 200, description: 'The link as it is now.', schema: linkSchema },
      run: async ({ body, request }, actor) => presentLink(await links.upsert(actor, body), request.origin),
    }),
    operation({
      id: 'updateLink',
      method: 'PATCH',
      aliases: ['PUT'],
      path: '/links/{linkId}',
      group: 'Links',
      summary: 'Update a link',
      description: 'Fields that are absent stay as they are; null clears a field.',
      access: WRITE,
      params: PARAMS,
      body: updateBody,
      bodyLimitBytes: IMAGE_BODY_BYTES,
      response: { status: 200, description: 'The link as it is now.', schema: linkSchema },
      run: async ({ params, body, request }, actor) =>
        presentLink(await links.update(actor, params.linkId, body), request.origin),
    }),
    operation({
      id: 'deleteLink',
      method: 'DELETE',
      path: '/links/{linkId}',
      group: 'Links',
      summary: 'Delete a link',
      access: WRITE,
      params: PARAMS,
      response: { status: 200, description: 'The link is gone.', schema: deletedId },
      run: async ({ params }, actor) => ({ id: (await links.delete(actor, params.linkId)).id }),
    }),
  ];
}

/** A picture as a data URL may come along. */
const IMAGE_BODY_BYTES = 8 * 1024 * 1024;

function bulkOperations({ links, workspaces }: LinkApiParts): Operation[] {
  return [
    operation({
      id: 'bulkCreateLinks',
      method: 'POST',
      path: '/links/bulk',
      group: 'Links',
      summary: 'Create up to 100 links',
      description: 'Links that cannot be made are reported one by one, behind those that were made.',
      access: WRITE,
      body: bulkCreateBody,
      bodyLimitBytes: IMAGE_BODY_BYTES,
      before: (actor) => assertQuotaLeft(workspaces, actor),
      response: {
        status: 200,
        description: 'The new links, then the errors.',
        schema: z.array(z.union([linkSchema, linkError])),
      },
      run: async ({ body, request }, actor) => {
        const outcomes = await links.createMany(actor, body.map(readDraft));
        return present(outcomes, (index) => body[index], request.origin);
      },
    }),
    operation({
      id: 'bulkUpdateLinks',
      method: 'PATCH',
      path: '/links/bulk',
      group: 'Links',
      summary: 'Update up to 100 links the same way',
      access: WRITE,
      body: bulkUpdateBody,
      bodyLimitBytes: IMAGE_BODY_BYTES,
      response: {
        status: 200,
        description: 'The links as they are now, then the errors.',
        schema: z.array(z.union([linkSchema, linkError])),
      },
      run: async ({ body, request }, actor) => {
        const { linkIds = [], externalIds = [], data } = body;
        const refs = linkIds.length > 0 ? linkIds : externalIds.map((id) => `ext_${stripExternalPrefix(id)}`);
        const named = await links.updateMany(actor, refs, data);
        const outcomes = named.map(({ outcome }) => outcome);
        return present(outcomes, (index) => ({ id: named[index]?.id }), request.origin);
      },
    }),
    operation({
      id: 'bulkDeleteLinks',
      method: 'DELETE',
      path: '/links/bulk',
      group: 'Links',
      summary: 'Delete up to 100 links',
      description:
        'Links that are unknown, the root of a domain, or in a folder you may not write to are skipped.',
      access: WRITE,
      query: z.object({
        linkIds: z.array(z.string()).max(MAX_BULK).describe('Ids of links, or ext_ and your own ids.'),
      }),
      response: {
        status: 200,
        description: 'How many were deleted.',
        schema: z.object({ deletedCount: z.number() }),
      },
      run: async ({ query }, actor) => {
        if (query.linkIds.length === 0)
          throw new AppError('bad_request', 'too_small: linkIds: at least one id is required');
        return { deletedCount: await links.deleteMany(actor, query.linkIds) };
      },
    }),
  ];
}

/** Most workspaces have no quota: then nothing is asked. */
async function assertQuotaLeft(workspaces: Workspaces, actor: Actor): Promise<void> {
  if (actor.limits.links !== undefined) await workspaces.assertLinkQuota(actor.workspaceId, 1);
}

function readDraft(item: unknown, index: number): LinkDraft | AppError {
  try {
    if (item === null || typeof item !== 'object' || Array.isArray(item))
      throw new AppError('bad_request', `invalid_type: [${index}]: a link must be an object`);
    return parseInput(createBody, item);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

/** Links first, in the order of the request, then what was refused. */
function present(outcomes: readonly Outcome[], submitted: (index: number) => unknown, origin: string) {
  const made: WireLink[] = [];
  const refused: { link: unknown; error: string; code: string }[] = [];
  for (const [index, outcome] of outcomes.entries()) {
    if ('link' in outcome) made.push(presentLink(outcome.link, origin));
    else refused.push({ link: submitted(index), error: outcome.error.message, code: outcome.error.code });
  }
  return [...made, ...refused];
}

interface InfoQuery {
  readonly domain?: string | undefined;
  readonly key?: string | undefined;
  readonly linkId?: string | undefined;
  readonly externalId?: string | undefined;
}

async function findByInfo(links: Links, actor: Actor, query: InfoQuery): Promise<Link> {
  const { domain, key, linkId, externalId } = query;
  if (linkId) return links.get(actor, linkId);
  if (externalId) {
    const link = await links.findByExternalId(actor, externalId);
    if (link) return link;
    if (externalId.startsWith('ext_')) throw new AppError('not_found', 'There is no such link.');
    throw new AppError('bad_request', 'custom: externalId: must begin with ext_');
  }
  if (!domain && key) throw new AppError('not_found', 'There is no such link; a key needs its domain.');
  if (!domain)
    throw new AppError('bad_request', 'invalid_type: linkId: give linkId, externalId, or domain and key');
  if (!/^[^\s/?#@\\]+$/.test(domain)) throw invalid('domain', 'must be a domain name');
  return links.getByKey(actor, domain, key ?? ROOT_KEY);
}

function documented(schema: z.ZodType): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Record<
    string,
    unknown
  >;
  return rest;
}
