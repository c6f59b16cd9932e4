// Links of partners over HTTP.
import { z } from 'zod';
import { type Operation, operation, requires } from '../http/operation.ts';
import { linkSchema, presentLink } from '../links/link-wire.ts';
import { partnerLinkSchema, presentPartnerLink } from './enrolment-wire.ts';
import { EDITORS, IMAGE_BODY_BYTES, linkProps, partnerWish } from './partner-fields.ts';
import type { PartnerLinks } from './partner-links.ts';

const MAX_PAGE_SIZE = 1_000;

const url = z.string().trim().min(1).max(32_000);
const fields = {
  ...partnerWish,
  key: z.string().max(190).optional().describe('The key after the slash; random if absent or empty.'),
  comments: z.string().nullable().optional().describe('Not looked at: comments belong into linkProps.'),
  linkProps: linkProps.optional(),
};

export function partnerLinkOperations({ partnerLinks }: { partnerLinks: PartnerLinks }): Operation[] {
  return [
    operation({
      id: 'createPartnerLink',
      method: 'POST',
      path: '/partners/links',
      group: 'Partners',
      summary: 'Create a link for a partner',
      access: EDITORS,
      body: z.object({
        ...fields,
        url: url.optional().describe('On a host that the group allows; its first default link if absent.'),
      }),
      bodyLimitBytes: IMAGE_BODY_BYTES,
      response: { status: 201, description: 'The new link.', schema: linkSchema },
      run: async ({ body, request }, actor) =>
        presentLink(await partnerLinks.create(actor, body, body), request.origin),
    }),
    operation({
      id: 'retrievePartnerLinks',
      method: 'GET',
      path: '/partners/links',
      group: 'Partners',
      summary: 'List the links of a partner',
      access: EDITORS,
      query: z.object({
        ...partnerWish,
        page: z.int().min(1).default(1).describe('The page, counted from 1.'),
        pageSize: z.int().min(1).max(MAX_PAGE_SIZE).default(MAX_PAGE_SIZE).describe('Rows per page.'),
      }),
      response: { status: 200, description: 'The links.', schema: z.array(partnerLinkSchema) },
      run: async ({ query }, actor) => (await partnerLinks.list(actor, query, query)).map(presentPartnerLink),
    }),
    operation({
      id: 'upsertPartnerLink',
      method: 'PUT',
      path: '/partners/links/upsert',
      group: 'Partners',
      summary: 'Create a link for a partner, or update the one to the same address',
      access: requires('links.write', 'business'),
      body: z.object({ ...fields, url: url.describe('On a host that the group allows.') }),
      bodyLimitBytes: IMAGE_BODY_BYTES,
      response: { status: 200, description: 'The link as it is now.', schema: linkSchema },
      run: async ({ body, request }, actor) =>
        presentLink(await partnerLinks.upsert(actor, body, body), request.origin),
    }),
  ];
}
