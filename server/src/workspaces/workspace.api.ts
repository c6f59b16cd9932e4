// Workspaces and their members over HTTP.
import { z } from 'zod';
import type { Users } from '../access/users.ts';
import { type Operation, operation, PLANS, ROLES, requires } from '../http/operation.ts';
import { listQuery } from '../http/pagination.ts';
import { isoTime } from '../kernel/clock.ts';
import { IP_PRIVACY } from '../kernel/ip-privacy.ts';
import {
  ALLOWED_HOSTNAME,
  ATTRIBUTION,
  type LimitName,
  MAX_ALLOWED_HOSTNAMES,
  PUBLISHABLE_KEY,
  UNLIMITED,
  type Workspace,
} from './workspace.ts';
import type { Workspaces } from './workspaces.ts';

const workspaceSchema = z.object({
  id: z.string(),
  name: z.string(),
  slug: z.string(),
  logo: z.string().nullable(),
  plan: z.enum(PLANS),
  defaultProduct: z.enum(['links', 'program']),
  defaultProgramId: z.string().nullable(),
  conversionEnabled: z.boolean(),
  webhookEnabled: z.boolean(),
  allowedHostnames: z.array(z.string()),
  publishableKey: z.string().nullable(),
  ipPrivacy: z.enum(IP_PRIVACY),
  attribution: z.enum(ATTRIBUTION),
  attributionDays: z.number().nullable(),
  usage: z.number().describe('Events recorded this month.'),
  usageLimit: z.number(),
  linksUsage: z.number().describe('Links created this month.'),
  linksLimit: z.number(),
  payoutsUsage: z.number(),
  payoutsLimit: z.number(),
  domainsLimit: z.number(),
  tagsLimit: z.number(),
  partnerTagsLimit: z.number(),
  foldersLimit: z.number(),
  groupsLimit: z.number(),
  partnersLimit: z.number(),
  usersLimit: z.number(),
  totalLinks: z.number(),
  totalClicks: z.number(),
  createdAt: z.iso.datetime(),
});

const memberSchema = z.object({
  id: z.string(),
  name: z.string().nullable(),
  email: z.string().nullable(),
  image: z.string().nullable(),
  role: z.enum(ROLES),
  isMachine: z.boolean(),
  createdAt: z.iso.datetime(),
});

const PARAMS = z.object({ idOrSlug: z.string().min(1).describe('The id or the slug of the workspace.') });

/** A picture of 5 MB as a data URL. */
const MAX_LOGO_LENGTH = 7_000_000;

const changeSchema = z.object({
  name: z.string().trim().min(1).max(32).optional(),
  slug: z.string().trim().min(3).max(48).optional().describe('Lower case; other characters become hyphens.'),
  logo: z
    .url({ protocol: /^(https?|data)$/ })
    .max(MAX_LOGO_LENGTH)
    .nullable()
    .optional()
    .describe('The address of an image, or a base64 data URL (PNG, JPEG, GIF, WebP).'),
  defaultProduct: z.enum(['links', 'program']).optional(),
  conversionEnabled: z.boolean().optional(),
  allowedHostnames: z
    .array(
      z
        .string()
        .trim()
        .toLowerCase()
        .regex(ALLOWED_HOSTNAME, 'takes example.com, *.example.com or localhost'),
    )
    .max(MAX_ALLOWED_HOSTNAMES)
    .optional()
    .describe('Sites whose pages may track from the browser. Empty: all.'),
  publishableKey: z
    .string()
    .regex(PUBLISHABLE_KEY, 'takes lt_pk_ and 16 to 64 letters, digits, _ or -')
    .nullable()
    .optional()
    .describe('The key that pages may show; null removes it, a new one replaces it.'),
  ipPrivacy: z
    .enum(IP_PRIVACY)
    .optional()
    .describe(
      'What is kept of the addresses of visitors: standard (none from the EU and the UK), keep, truncate (without the last part) or drop.',
    ),
  attribution: z.enum(ATTRIBUTION).optional().describe('Which click of a customer gets the credit.'),
  attributionDays: z
    .int()
    .min(1)
    .max(3650)
    .nullable()
    .optional()
    .describe('How many days after it a click still gets credit; null: for ever.'),
});

/** Keeps an image and returns its address; refuses what is no image, naming the field. */
type ImageKeeper = { saveImage(dataUrl: string, field: string): Promise<string> };

export function workspaceOperations({
  workspaces,
  users,
  files,
}: {
  workspaces: Workspaces;
  users: Users;
  files: ImageKeeper;
}): Operation[] {
  return [
    operation({
      id: 'getWorkspace',
      method: 'GET',
      path: '/workspaces/{idOrSlug}',
      group: 'Workspaces',
      summary: 'Retrieve the workspace',
      access: requires('workspaces.read'),
      params: PARAMS,
      response: { status: 200, description: 'The workspace.', schema: workspaceSchema },
      run: async ({ params }, actor) => present(await workspaces.getOwn(actor, params.idOrSlug)),
    }),
    operation({
      id: 'updateWorkspace',
      method: 'PATCH',
      aliases: ['PUT'],
      path: '/workspaces/{idOrSlug}',
      group: 'Workspaces',
      summary: 'Update the workspace',
      description: 'Fields that are absent stay as they are.',
      access: requires('workspaces.write'),
      params: PARAMS,
      body: changeSchema,
      bodyLimitBytes: MAX_LOGO_LENGTH + 65_536,
      response: { status: 200, description: 'The workspace as it is now.', schema: workspaceSchema },
      run: async ({ params, body }, actor) => {
        const logo = body.logo?.startsWith('data:') ? await files.saveImage(body.logo, 'logo') : body.logo;
        return present(await workspaces.update(actor, params.idOrSlug, given({ ...body, logo })));
      },
    }),
    operation({
      id: 'listWorkspaceUsers',
      method: 'GET',
      path: '/workspaces/{idOrSlug}/users',
      group: 'Workspaces',
      summary: 'List the members of the workspace',
      access: requires('workspaces.read'),
      params: PARAMS,
      query: z.object({
        search: z.string().trim().max(190).optional().describe('Part of the name or the e-mail address.'),
        role: z.enum(ROLES).optional().describe('Only members with this role.'),
        ...listQuery({ sortBy: ['createdAt', 'name', 'role'] }),
      }),
      response: { status: 200, description: 'The members.', schema: z.array(memberSchema) },
      run: async ({ params, query }, actor) => {
        const { id } = await workspaces.getOwn(actor, params.idOrSlug);
        const members = await users.list(id, { search: query.search, role: query.role }, query);
        return members.map((member) => ({ ...member, createdAt: isoTime(member.createdAt) }));
      },
    }),
  ];
}

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Leaves out what was not sent, so that it stays unchanged. */
function given<T extends object>(values: T): Given<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Given<T>;
}

function present(workspace: Workspace): z.input<typeof workspaceSchema> {
  const limit = (name: LimitName) => workspace.limits[name] ?? UNLIMITED;
  return {
    id: workspace.id,
    name: workspace.name,
    slug: workspace.slug,
    logo: workspace.logo,
    plan: workspace.plan,
    defaultProduct: workspace.defaultProduct,
    defaultProgramId: workspace.defaultProgramId,
    conversionEnabled: workspace.conversionEnabled,
    webhookEnabled: workspace.webhookEnabled,
    allowedHostnames: [...workspace.allowedHostnames],
    publishableKey: workspace.publishableKey,
    ipPrivacy: workspace.ipPrivacy,
    attribution: workspace.attribution,
    attributionDays: workspace.attributionDays,
    usage: workspace.usage.events,
    usageLimit: limit('events'),
    linksUsage: workspace.usage.links,
    linksLimit: limit('links'),
    payoutsUsage: workspace.usage.payouts,
    payoutsLimit: limit('payouts'),
    domainsLimit: limit('domains'),
    tagsLimit: limit('tags'),
    partnerTagsLimit: limit('partnerTags'),
    foldersLimit: limit('folders'),
    groupsLimit: limit('groups'),
    partnersLimit: limit('partners'),
    usersLimit: limit('users'),
    totalLinks: workspace.totalLinks,
    totalClicks: workspace.totalClicks,
    createdAt: isoTime(workspace.createdAt),
  };
}
