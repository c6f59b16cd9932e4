// Domains over HTTP.
import { z } from 'zod';
import { type Operation, operation, requires } from '../http/operation.ts';
import { listQuery } from '../http/pagination.ts';
import { isoTime } from '../kernel/clock.ts';
import { AppError } from '../kernel/errors.ts';
import type { Domain } from './domain.ts';
import type { Domains } from './domains.ts';
import { SETUP_STATUSES } from './verify.ts';

/** An image of 5 MB as a base64 data URL. */
const MAX_LOGO_LENGTH = 7_000_000;
const BODY_LIMIT_BYTES = 8 * 1024 * 1024;

const nullableText = z.string().nullable();

const domainSchema = z
  .object({
    id: z.string(),
    slug: z.string().describe('The domain name.'),
    verified: z.boolean().describe('Whether its DNS was found to be set up.'),
    primary: z.boolean().describe('Whether new links get this domain when they name none.'),
    archived: z.boolean(),
    caseSensitive: z.boolean().describe('Whether keys that differ only in case are different links.'),
    placeholder: nullableText,
    expiredUrl: nullableText,
    notFoundUrl: nullableText,
    logo: nullableText,
    assetLinks: nullableText.describe('JSON as text.'),
    appleAppSiteAssociation: nullableText.describe('JSON as text.'),
    deepviewData: nullableText.describe('JSON as text.'),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
    registeredDomain: z.null().describe('Always null: domains are registered elsewhere.'),
  })
  .describe('A short-link domain.');

// The formats are for readers of the document; what they mean is checked by the rules of domains.
const slug = z
  .string()
  .trim()
  .min(1)
  .max(190)
  .meta({ format: 'idn-hostname', description: 'The domain name, such as go.example.com.' });
const address = (maxLength: number) =>
  z.string().trim().max(maxLength).meta({ format: 'uri' }).nullable().optional();
const jsonText = (text: string) =>
  z.string().max(131_072).meta({ format: 'json' }).nullable().optional().describe(`${text} JSON as text.`);

const fields = {
  expiredUrl: address(32_000).describe('Where visitors of expired links go.'),
  notFoundUrl: address(32_000).describe('Where visitors of unknown links go.'),
  placeholder: address(100).describe('An example destination, shown to people who make links.'),
  logo: address(MAX_LOGO_LENGTH).describe(
    'A base64 data URL (PNG, JPEG, GIF, WebP) or the address of an image.',
  ),
  assetLinks: jsonText('What /.well-known/assetlinks.json answers.'),
  appleAppSiteAssociation: jsonText('What /.well-known/apple-app-site-association answers.'),
  deepviewData: jsonText('What pages that open an app show.'),
  caseSensitive: z
    .boolean()
    .optional()
    .describe('Whether keys that differ only in case are different links. Fixed once the domain has links.'),
};

const createBody = z.object({
  slug,
  ...fields,
  archived: z.boolean().optional().describe('Ignored: a new domain is not archived.'),
});
const updateBody = z.object({
  slug: slug.optional().describe('A new name; all links of the domain follow.'),
  ...fields,
  archived: z
    .boolean()
    .default(false)
    .describe('Whether lists leave it out; its links keep working. Absent counts as false.'),
});

const filter = {
  archived: z.boolean().default(false).describe('Archived domains instead of the others.'),
  search: z.string().trim().max(190).optional().describe('Part of the name.'),
};

const PARAMS = z.object({ slug: z.string().min(1).describe('The domain name.') });
const READ = requires('domains.read');
const WRITE = requires('domains.write');

const verificationSchema = z
  .object({
    status: z.enum(SETUP_STATUSES),
    verified: z.boolean().describe('The domain as it is now.'),
    records: z
      .array(z.object({ type: z.enum(['TXT', 'CNAME', 'A', 'AAAA']), name: z.string(), value: z.string() }))
      .describe('The DNS records to make.'),
  })
  .describe('How the domain is set up.');

export function domainOperations({ domains }: { domains: Domains }): Operation[] {
  // Fixed paths go first: they would be taken for names.
  return [...registrarOperations(), ...collectionOperations(domains), ...singleOperations(domains)];
}

function collectionOperations(domains: Domains): Operation[] {
  return [
    operation({
      id: 'listDomains',
      method: 'GET',
      path: '/domains',
      group: 'Domains',
      summary: 'List domains',
      access: READ,
      query: z.object({ ...filter, ...listQuery({ sortBy: ['createdAt', 'slug'], defaultPageSize: 50 }) }),
      response: { status: 200, description: 'The domains.', schema: z.array(domainSchema) },
      run: async ({ query }, actor) => (await domains.list(actor.workspaceId, query, query)).map(present),
    }),
    operation({
      id: 'countDomains',
      method: 'GET',
      path: '/domains/count',
      group: 'Domains',
      summary: 'Count domains',
      access: READ,
      query: z.object(filter),
      response: { status: 200, description: 'How many domains there are.', schema: z.number() },
      run: ({ query }, actor) => domains.count(actor.workspaceId, query),
    }),
    operation({
      id: 'createDomain',
      method: 'POST',
      path: '/domains',
      group: 'Domains',
      summary: 'Add a domain',
      description:
        'The first domain of a workspace becomes its primary one. logo, expiredUrl, notFoundUrl, assetLinks and appleAppSiteAssociation need the plan pro or higher.',
      access: WRITE,
      body: createBody,
      bodyLimitBytes: BODY_LIMIT_BYTES,
      before: (actor) => domains.assertRoom(actor),
      response: { status: 201, description: 'The new domain.', schema: domainSchema },
      run: async ({ body }, actor) => present(await domains.create(actor, body)),
    }),
  ];
}

function singleOperations(domains: Domains): Operation[] {
  return [
    operation({
      id: 'getDomain',
      method: 'GET',
      path: '/domains/{slug}',
      group: 'Domains',
      summary: 'Get a domain',
      access: READ,
      params: PARAMS,
      response: { status: 200, description: 'The domain.', schema: domainSchema },
      run: async ({ params }, actor) => present(await domains.get(actor.workspaceId, params.slug)),
    }),
    operation({
      id: 'updateDomain',
      method: 'PATCH',
      path: '/domains/{slug}',
      group: 'Domains',
      summary: 'Update a domain',
      description:
        'Fields that are absent stay as they are, except archived. With a new name, visits find all links under it at once; what the API shows of more than 500 links follows within minutes, and until then the name cannot be changed again.',
      access: WRITE,
      params: PARAMS,
      body: updateBody,
      bodyLimitBytes: BODY_LIMIT_BYTES,
      response: { status: 200, description: 'The domain as it is now.', schema: domainSchema },
      run: async ({ params, body }, actor) => present(await domains.update(actor, params.slug, body)),
    }),
    operation({
      id: 'deleteDomain',
      method: 'DELETE',
      path: '/domains/{slug}',
      group: 'Domains',
      summary: 'Delete a domain',
      description: 'Its links stop working at once and are deleted with it.',
      access: WRITE,
      params: PARAMS,
      response: {
        status: 200,
        description: 'The domain is gone.',
        schema: z.object({ slug: z.string().describe('The name of the deleted domain.') }),
      },
      run: async ({ params }, actor) => {
        const { slug } = await domains.delete(actor.workspaceId, params.slug);
        return { slug };
      },
    }),
    operation({
      id: 'setPrimaryDomain',
      method: 'POST',
      path: '/domains/{slug}/primary',
      group: 'Domains',
      summary: 'Make a domain the primary one',
      description: 'New links get it when they name no domain. The one that was primary before no longer is.',
      access: WRITE,
      params: PARAMS,
      response: { status: 200, description: 'The primary domain.', schema: domainSchema },
      run: async ({ params }, actor) => present(await domains.setPrimary(actor.workspaceId, params.slug)),
    }),
    operation({
      id: 'verifyDomain',
      method: 'GET',
      path: '/domains/{slug}/verify',
      group: 'Domains',
      summary: 'Check how a domain is set up',
      description:
        'Looks at the DNS of the domain where the operator asked for it, and keeps the result in verified.',
      access: READ,
      params: PARAMS,
      response: { status: 200, description: 'What was found.', schema: verificationSchema },
      run: async ({ params }, actor) => {
        const { status, domain, records } = await domains.verify(actor.workspaceId, params.slug);
        return { status, verified: domain.verified, records: [...records] };
      },
    }),
  ];
}

/** Declared for clients that know them; a self-hosted service sells no domains. */
function registrarOperations(): Operation[] {
  const price = z.number().nullable();
  const prices = z.object({ registration: price, renewal: price }).nullable();
  const status = z.object({
    domain: z.string(),
    available: z.boolean(),
    premium: z.boolean().nullable(),
    prices,
    price: nullableText,
  });
  return [
    operation({
      id: 'registerDomain',
      method: 'POST',
      path: '/domains/register',
      group: 'Domains',
      summary: 'Register a domain',
      description:
        'Always refused: this service is no registrar. Register the name elsewhere and add it with createDomain.',
      access: WRITE,
      body: z.object({ domain: z.string().describe('The name to register.') }),
      before: noRegistrar,
      response: {
        status: 201,
        description: 'The registration.',
        schema: z.object({ domain: z.string(), status: z.string(), expiration: z.number().nullable() }),
      },
      run: noRegistrar,
    }),
    operation({
      id: 'checkDomainStatus',
      method: 'GET',
      path: '/domains/status',
      group: 'Domains',
      summary: 'Check whether domains can be registered',
      description: 'Always refused: this service is no registrar.',
      access: READ,
      query: z.object({ domains: z.array(z.string()).max(100).describe('The names to look up.') }),
      before: noRegistrar,
      response: { status: 200, description: 'The state of each name.', schema: z.array(status) },
      run: noRegistrar,
    }),
  ];
}

async function noRegistrar(): Promise<never> {
  throw new AppError(
    'forbidden',
    'This service does not register domains. Register the name elsewhere, then add it here.',
  );
}

function present(domain: Domain): z.input<typeof domainSchema> {
  const { workspaceId: _, verificationCode: __, formerSlug: ___, createdAt, updatedAt, ...shown } = domain;
  return { ...shown, createdAt: isoTime(createdAt), updatedAt: isoTime(updatedAt), registeredDomain: null };
}
