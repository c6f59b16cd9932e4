// Groups of partners over HTTP.
import { z } from 'zod';
import { deletedId, type Operation, operation, requires } from '../http/operation.ts';
import { listQuery } from '../http/pagination.ts';
import { type Clock, isoTime } from '../kernel/clock.ts';
import { TAG_COLORS } from '../tags/tag.ts';
import { slugify } from '../workspaces/workspace.ts';
import { applicationFormSchema } from './application-form.ts';
import { GROUP_SORTS, type GroupTotals } from './group.store.ts';
import {
  type DefaultLink,
  HOLDING_PERIODS_DAYS,
  LINK_STRUCTURES,
  MAX_ADDITIONAL_LINKS,
  MOVE_ATTRIBUTES,
  type PartnerGroup,
  utmOf,
} from './group.ts';
import type { Groups } from './groups.ts';
import { given } from './program.api.ts';

const textOrNull = z.string().nullable();
const time = z.iso.datetime();

const additionalLinkSchema = z.object({
  domain: z
    .string()
    .trim()
    .toLowerCase()
    .regex(/^[^\s/?#@:]+$/, 'must be a host name such as shop.example.com')
    .max(190),
  path: z.string().trim().max(2_000).default('').describe('With its query; for the mode exact.'),
  validationMode: z.enum(['domain', 'exact']).default('domain'),
});

const moveRuleSchema = z
  .object({
    attribute: z.enum(MOVE_ATTRIBUTES),
    min: z.int().min(0).default(0),
    max: z.int().min(0).nullable().default(null).describe('Null: no upper end.'),
  })
  .refine(({ min, max }) => max === null || max >= min, { path: ['max'], message: 'must not be below min' });

const utmFields = ['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content', 'ref'] as const;
const utmSchema = z.object(
  Object.fromEntries(utmFields.map((field) => [field, textOrNull])) as Record<
    (typeof utmFields)[number],
    typeof textOrNull
  >,
);
const utmValue = z
  .string()
  .trim()
  .max(255)
  .transform((text) => text || null)
  .nullable()
  .optional();
const utmInput = z
  .object(
    Object.fromEntries(utmFields.map((field) => [field, utmValue])) as Record<
      (typeof utmFields)[number],
      typeof utmValue
    >,
  )
  .describe('Campaign parameters of the links of the group.');

const groupSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    slug: z.string(),
    color: textOrNull,
    holdingPeriodDays: z.number(),
    maxPartnerLinks: z.number(),
    additionalLinks: z.array(additionalLinkSchema).nullable(),
    linkStructure: z.enum(LINK_STRUCTURES),
    utmTemplate: utmSchema,
    autoApprovePartners: z.boolean(),
    autoApprovePartnersEnabledAt: time.nullable(),
    applicationForm: applicationFormSchema.nullable(),
    applicationFormPublishedAt: time.nullable(),
    moveRules: z.array(moveRuleSchema).nullable(),
    clickRewardId: textOrNull,
    leadRewardId: textOrNull,
    saleRewardId: textOrNull,
    referralRewardId: textOrNull,
    discountId: textOrNull,
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'PartnerGroup', description: 'A group of partners.' });

const listedGroupSchema = groupSchema.extend({
  totalPartners: z.number(),
  totalClicks: z.number(),
  totalLeads: z.number(),
  totalConversions: z.number(),
  totalSales: z.number(),
  totalSaleAmount: z.number(),
  totalCommissions: z.number(),
  netRevenue: z.number(),
});

const defaultLinkSchema = z
  .object({ id: z.string(), domain: z.string(), url: z.string(), createdAt: time, updatedAt: time })
  .meta({ id: 'GroupDefaultLink', description: 'A link that every partner of the group gets.' });

const name = z.string().trim().min(1).max(190);
const slug = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .refine((text) => !text.startsWith('grp_'), 'must not begin with grp_')
  .transform(slugify)
  .refine((text) => text !== '', 'must have letters or digits');
const color = z.enum(TAG_COLORS).nullable().optional();

const updateBody = z.object({
  name: name.optional(),
  slug: slug.optional(),
  color,
  holdingPeriodDays: z
    .literal(HOLDING_PERIODS_DAYS)
    .optional()
    .describe('How long commissions wait before they are paid out.'),
  maxPartnerLinks: z.int().min(0).max(100_000).optional(),
  additionalLinks: z.array(additionalLinkSchema).max(MAX_ADDITIONAL_LINKS).nullable().optional(),
  linkStructure: z.enum(LINK_STRUCTURES).optional(),
  utmTemplate: utmInput.nullable().optional(),
  autoApprovePartners: z.boolean().optional(),
  applicationForm: applicationFormSchema.nullable().optional(),
  applicationFormPublished: z.boolean().optional().describe('Whether people can apply to this group.'),
  moveRules: z
    .array(moveRuleSchema)
    .max(20)
    .nullable()
    .optional()
    .describe('Partners whose totals fit all of these are moved to this group. Needs the plan advanced.'),
});

const PARAMS = z.object({ idOrSlug: z.string().min(1).describe('The id or the slug of the group.') });
const READ = requires('groups.read', 'business');
const WRITE = requires('groups.write', 'business');
const MAX_MOVES = 100;

export interface GroupApiParts {
  readonly groups: Groups;
  readonly clock: Clock;
}

export function groupOperations(parts: GroupApiParts): Operation[] {
  return [...crudOperations(parts), ...memberOperations(parts), ...defaultLinkOperations(parts)];
}

function crudOperations({ groups, clock }: GroupApiParts): Operation[] {
  return [
    operation({
      id: 'listGroups',
      method: 'GET',
      path: '/groups',
      group: 'Groups',
      summary: 'List groups',
      access: READ,
      query: z.object({
        search: z.string().trim().max(190).optional().describe('Part of the name or slug, in any case.'),
        groupIds: z.array(z.string()).max(100).optional().describe('Only these groups.'),
        ...listQuery({ sortBy: GROUP_SORTS, defaultOrder: 'desc' }),
      }),
      response: { status: 200, description: 'The groups.', schema: z.array(listedGroupSchema) },
      run: async ({ query }, actor) => {
        const found = await groups.list(actor, { search: query.search, ids: query.groupIds }, query);
        return found.map((group) => ({ ...present(group), ...totalsOf(group) }));
      },
    }),
    operation({
      id: 'createGroup',
      method: 'POST',
      path: '/groups',
      group: 'Groups',
      summary: 'Create a group',
      description: 'With the settings and default links of the default group, without its rewards.',
      access: WRITE,
      body: z.object({ name, slug, color }),
      before: (actor) => groups.assertRoom(actor),
      response: { status: 201, description: 'The new group.', schema: groupSchema },
      run: async ({ body }, actor) =>
        present(await groups.create(actor, { ...body, color: body.color ?? null })),
    }),
    operation({
      id: 'getGroup',
      method: 'GET',
      path: '/groups/{idOrSlug}',
      group: 'Groups',
      summary: 'Retrieve a group',
      access: READ,
      params: PARAMS,
      response: { status: 200, description: 'The group.', schema: groupSchema },
      run: async ({ params }, actor) => present(await groups.get(actor, params.idOrSlug)),
    }),
    operation({
      id: 'updateGroup',
      method: 'PATCH',
      path: '/groups/{idOrSlug}',
      group: 'Groups',
      summary: 'Update a group',
      description: 'Fields that are absent stay as they are; null clears a field.',
      access: WRITE,
      params: PARAMS,
      body: updateBody,
      response: { status: 200, description: 'The group as it is now.', schema: groupSchema },
      run: async ({ params, body }, actor) =>
        present(await groups.update(actor, params.idOrSlug, changeOf(body, clock.now()))),
    }),
    operation({
      id: 'deleteGroup',
      method: 'DELETE',
      path: '/groups/{idOrSlug}',
      group: 'Groups',
      summary: 'Delete a group',
      description: 'Its partners go to the default group. The default group cannot be deleted.',
      access: WRITE,
      params: PARAMS,
      response: { status: 200, description: 'The group is gone.', schema: deletedId },
      run: async ({ params }, actor) => ({ id: (await groups.delete(actor, params.idOrSlug)).id }),
    }),
  ];
}

function memberOperations({ groups }: GroupApiParts): Operation[] {
  return [
    operation({
      id: 'setDefaultGroup',
      method: 'POST',
      path: '/groups/{idOrSlug}/default',
      group: 'Groups',
      summary: 'Make a group the default group',
      access: WRITE,
      params: PARAMS,
      response: { status: 200, description: 'The group.', schema: groupSchema },
      run: async ({ params }, actor) => present(await groups.setDefault(actor, params.idOrSlug)),
    }),
    operation({
      id: 'addPartnersToGroup',
      method: 'POST',
      path: '/groups/{idOrSlug}/partners',
      group: 'Groups',
      summary: 'Move partners to a group',
      description: 'They get its rewards and discount, and their default links follow.',
      access: WRITE,
      params: PARAMS,
      body: z.object({ partnerIds: z.array(z.string()).min(1).max(MAX_MOVES) }),
      response: {
        status: 200,
        description: 'How many partners have come from other groups.',
        schema: z.object({ count: z.number() }),
      },
      run: async ({ params, body }, actor) => ({
        count: await groups.movePartners(actor, params.idOrSlug, body.partnerIds),
      }),
    }),
  ];
}

function defaultLinkOperations({ groups }: GroupApiParts): Operation[] {
  const path = '/groups/{idOrSlug}/default-links';
  return [
    operation({
      id: 'listGroupDefaultLinks',
      method: 'GET',
      path,
      group: 'Groups',
      summary: 'List the default links of a group',
      access: READ,
      params: PARAMS,
      response: { status: 200, description: 'At most five.', schema: z.array(defaultLinkSchema) },
      run: async ({ params }, actor) =>
        (await groups.listDefaultLinks(actor, params.idOrSlug)).map(presentDefaultLink),
    }),
    operation({
      id: 'createGroupDefaultLink',
      method: 'POST',
      path,
      group: 'Groups',
      summary: 'Add a default link to a group',
      description:
        'All partners of the group get a link to it: those who join, and those who are there, many of them after a while.',
      access: WRITE,
      params: PARAMS,
      body: z.object({
        url: z.string().trim().min(1).max(32_000),
        domain: z.string().trim().min(1).max(190).optional().describe("The program's domain if absent."),
      }),
      response: { status: 201, description: 'The new default link.', schema: defaultLinkSchema },
      run: async ({ params, body }, actor) =>
        presentDefaultLink(await groups.addDefaultLink(actor, params.idOrSlug, body)),
    }),
    operation({
      id: 'deleteGroupDefaultLink',
      method: 'DELETE',
      path: `${path}/{defaultLinkId}`,
      group: 'Groups',
      summary: 'Remove a default link from a group',
      description: 'Links that partners have got by it stay, as links of their own.',
      access: WRITE,
      params: PARAMS.extend({ defaultLinkId: z.string().min(1).describe('The id of the default link.') }),
      response: { status: 200, description: 'The default link is gone.', schema: deletedId },
      run: async ({ params }, actor) => {
        await groups.deleteDefaultLink(actor, params.idOrSlug, params.defaultLinkId);
        return { id: params.defaultLinkId };
      },
    }),
  ];
}

function changeOf(body: z.output<typeof updateBody>, nowMs: number) {
  const { utmTemplate, autoApprovePartners, applicationFormPublished, ...fields } = body;
  const since = (on: boolean | undefined) => (on === undefined ? undefined : on ? nowMs : null);
  const utm = utmTemplate === null ? NO_UTM : utmTemplate;
  return given({
    ...fields,
    utmSource: utm?.utm_source,
    utmMedium: utm?.utm_medium,
    utmCampaign: utm?.utm_campaign,
    utmTerm: utm?.utm_term,
    utmContent: utm?.utm_content,
    ref: utm?.ref,
    autoApproveAt: since(autoApprovePartners),
    applicationFormPublishedAt: since(applicationFormPublished),
  });
}

const NO_UTM = Object.fromEntries(utmFields.map((field) => [field, null])) as Record<
  (typeof utmFields)[number],
  null
>;

const orNull = (ms: number | null) => (ms === null ? null : isoTime(ms));

function present(group: PartnerGroup): z.input<typeof groupSchema> {
  return {
    id: group.id,
    name: group.name,
    slug: group.slug,
    color: group.color,
    holdingPeriodDays: group.holdingPeriodDays,
    maxPartnerLinks: group.maxPartnerLinks,
    additionalLinks: group.additionalLinks && [...group.additionalLinks],
    linkStructure: group.linkStructure,
    utmTemplate: utmOf(group),
    autoApprovePartners: group.autoApproveAt !== null,
    autoApprovePartnersEnabledAt: orNull(group.autoApproveAt),
    applicationForm: group.applicationForm,
    applicationFormPublishedAt: orNull(group.applicationFormPublishedAt),
    moveRules: group.moveRules && [...group.moveRules],
    clickRewardId: group.clickRewardId,
    leadRewardId: group.leadRewardId,
    saleRewardId: group.saleRewardId,
    referralRewardId: group.referralRewardId,
    discountId: group.discountId,
    createdAt: isoTime(group.createdAt),
    updatedAt: isoTime(group.updatedAt),
  };
}

function totalsOf(totals: GroupTotals): GroupTotals {
  const { totalPartners, totalClicks, totalLeads, totalConversions, totalSales } = totals;
  const { totalSaleAmount, totalCommissions, netRevenue } = totals;
  return {
    totalPartners,
    totalClicks,
    totalLeads,
    totalConversions,
    totalSales,
    totalSaleAmount,
    totalCommissions,
    netRevenue,
  };
}

function presentDefaultLink(link: DefaultLink): z.input<typeof defaultLinkSchema> {
  const { id, domain, url, createdAt, updatedAt } = link;
  return { id, domain, url, createdAt: isoTime(createdAt), updatedAt: isoTime(updatedAt) };
}
