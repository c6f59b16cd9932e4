// Partners over HTTP: adding, listing, changing, and sending them away and back.
import { z } from 'zod';
import { deletedId, type Operation, operation, requires } from '../http/operation.ts';
import { listQuery } from '../http/pagination.ts';
import { isoTime } from '../kernel/clock.ts';
import { readListFilter } from '../kernel/list-filter.ts';
import { ENROLMENT_SORTS, type EnrolmentFilter, GROUPINGS } from './enrolment-list.store.ts';
import { ENROLMENT_STATUSES } from './enrolment-states.ts';
import { enrolledPartnerSchema, presentEnrolled, type ShownPartner } from './enrolment-wire.ts';
import { BAN_REASONS } from './partner.ts';
import {
  ANYBODY,
  EDITORS,
  groupRef,
  IMAGE_BODY_BYTES,
  newPartner,
  partnerIdAnswer,
  partnerWish,
  tenantId,
} from './partner-fields.ts';
import type { Partners } from './partners.ts';
import { given } from './program.api.ts';

const bound = z.int().optional();
const listText = (what: string) =>
  z
    .string()
    .max(10_000)
    .optional()
    .describe(`${what}: one, several with commas, or none of them with a minus in front.`);

const filters = {
  status: z.enum(ENROLMENT_STATUSES).optional(),
  groupId: listText('Groups'),
  country: listText('Countries'),
  partnerTagId: listText('Partner tags'),
  partnerIds: z.array(z.string()).max(100).optional().describe('Only these partners.'),
  referredByPartnerId: z.string().min(1).optional(),
  email: z
    .string()
    .trim()
    .min(1)
    .max(190)
    .optional()
    .describe('The whole address. search is then not looked at.'),
  tenantId: tenantId.optional(),
  search: z
    .string()
    .trim()
    .max(190)
    .optional()
    .describe('An address, an id, or a part of name, address or company.'),
  totalClicksMin: bound,
  totalClicksMax: bound,
  totalLeadsMin: bound,
  totalLeadsMax: bound,
  totalConversionsMin: bound,
  totalConversionsMax: bound,
  totalSaleAmountMin: bound,
  totalSaleAmountMax: bound,
  totalCommissionsMin: bound,
  totalCommissionsMax: bound,
};

const detailedSchema = enrolledPartnerSchema.extend({
  lastLeadAt: z.iso.datetime().nullable(),
  lastConversionAt: z.iso.datetime().nullable(),
  riskMonitoring: z.boolean(),
  groupMoves: z.boolean(),
});

const PARAMS = z.object({ partnerId: z.string().min(1).describe('The id of the partner.') });
const WRITE = requires('partners.write', 'business');

export function partnerOperations({ partners }: { partners: Partners }): Operation[] {
  return [
    ...listOperations(partners),
    ...stateOperations(partners),
    ...archiveOperations(partners),
    ...singleOperations(partners),
  ];
}

function listOperations(partners: Partners): Operation[] {
  return [
    operation({
      id: 'createPartner',
      method: 'POST',
      path: '/partners',
      group: 'Partners',
      summary: 'Add a partner to the program',
      description:
        'Whoever is in the program already, by tenantId or by address, is returned as they are; a new tenantId replaces the old one.',
      access: EDITORS,
      body: newPartner,
      bodyLimitBytes: IMAGE_BODY_BYTES,
      response: { status: 201, description: 'The partner.', schema: enrolledPartnerSchema },
      run: async ({ body }, actor) => {
        const { tags: _, ...partner } = presentEnrolled(await partners.create(actor, given(body)));
        return partner;
      },
    }),
    operation({
      id: 'listPartners',
      method: 'GET',
      path: '/partners',
      group: 'Partners',
      summary: 'List partners',
      access: ANYBODY,
      query: z.object({ ...filters, ...listQuery({ sortBy: ENROLMENT_SORTS, defaultOrder: 'desc' }) }),
      response: { status: 200, description: 'The partners.', schema: z.array(enrolledPartnerSchema) },
      run: async ({ query }, actor) =>
        (await partners.list(actor, filterOf(query), query)).map(presentEnrolled),
    }),
    operation({
      id: 'countPartners',
      method: 'GET',
      path: '/partners/count',
      group: 'Partners',
      summary: 'Count partners',
      access: ANYBODY,
      query: z.object({ ...filters, groupBy: z.enum(GROUPINGS).optional() }),
      response: {
        status: 200,
        description: 'The count, or the counts per group, largest first.',
        schema: z.union([z.number(), z.array(z.looseObject({ _count: z.number() }))]),
      },
      run: async ({ query }, actor) => {
        const { groupBy } = query;
        if (!groupBy) return partners.count(actor, filterOf(query));
        const groups = await partners.countBy(actor, filterOf(query), groupBy);
        return groups.map(({ value, count }) => ({ [groupBy]: value, _count: count }));
      },
    }),
  ];
}

function stateOperations(partners: Partners): Operation[] {
  return [
    operation({
      id: 'banPartner',
      method: 'POST',
      path: '/partners/ban',
      group: 'Partners',
      summary: 'Ban a partner',
      description: 'Links stop working, rewards end, and what is not paid out yet is canceled.',
      access: EDITORS,
      body: z.object({ ...partnerWish, reason: z.enum(BAN_REASONS) }),
      response: { status: 200, description: 'The partner is banned.', schema: partnerIdAnswer },
      run: ({ body }, actor) => partners.ban(actor, body, body.reason),
    }),
    operation({
      id: 'deactivatePartner',
      method: 'POST',
      path: '/partners/deactivate',
      group: 'Partners',
      summary: 'Deactivate a partner',
      description: 'Links expire and rewards end; what was earned is still paid out.',
      access: EDITORS,
      body: z.object(partnerWish),
      response: { status: 200, description: 'The partner is deactivated.', schema: partnerIdAnswer },
      run: ({ body }, actor) => partners.deactivate(actor, body),
    }),
    operation({
      id: 'unbanPartner',
      method: 'POST',
      path: '/partners/unban',
      group: 'Partners',
      summary: 'Take back the ban of a partner',
      description: 'Links and the rewards of the group are back.',
      access: WRITE,
      body: z.object(partnerWish),
      response: { status: 200, description: 'The partner is approved again.', schema: partnerIdAnswer },
      run: ({ body }, actor) => partners.restore(actor, body, 'unban'),
    }),
    operation({
      id: 'reactivatePartner',
      method: 'POST',
      path: '/partners/reactivate',
      group: 'Partners',
      summary: 'Reactivate a partner',
      access: WRITE,
      body: z.object(partnerWish),
      response: { status: 200, description: 'The partner is approved again.', schema: partnerIdAnswer },
      run: ({ body }, actor) => partners.restore(actor, body, 'reactivate'),
    }),
  ];
}

function archiveOperations(partners: Partners): Operation[] {
  return (['archive', 'unarchive'] as const).map((event) =>
    operation({
      id: `${event}Partner`,
      method: 'POST',
      path: `/partners/${event}`,
      group: 'Partners',
      summary: event === 'archive' ? 'Archive a partner' : 'Take a partner out of the archive',
      description: 'Archived partners keep their links and go on earning.',
      access: WRITE,
      body: z.object(partnerWish),
      response: { status: 200, description: 'The id of the partner.', schema: partnerIdAnswer },
      run: ({ body }, actor) => partners.archive(actor, body, event),
    }),
  );
}

function singleOperations(partners: Partners): Operation[] {
  return [
    operation({
      id: 'getPartner',
      method: 'GET',
      path: '/partners/{partnerId}',
      group: 'Partners',
      summary: 'Retrieve a partner',
      access: ANYBODY,
      params: PARAMS,
      response: { status: 200, description: 'The partner.', schema: detailedSchema },
      run: async ({ params }, actor) => presentDetailed(await partners.get(actor, params.partnerId)),
    }),
    operation({
      id: 'updatePartner',
      method: 'PATCH',
      path: '/partners/{partnerId}',
      group: 'Partners',
      summary: 'Update a partner’s place in the program',
      description: 'Fields that are absent stay as they are. The person behind it is changed by nobody else.',
      access: WRITE,
      params: PARAMS,
      body: z.object({
        tenantId: tenantId.nullable().optional(),
        groupId: groupRef.optional().describe('Moves the partner to this group.'),
        tagIds: z.array(z.string()).max(100).optional().describe('The partner tags, and no others.'),
        riskMonitoring: z.boolean().optional().describe('Whether conversions are watched for fraud.'),
        groupMoves: z.boolean().optional().describe('Whether rules of groups may move the partner.'),
      }),
      response: { status: 200, description: 'The partner as it is now.', schema: detailedSchema },
      run: async ({ params, body }, actor) =>
        presentDetailed(await partners.update(actor, params.partnerId, body)),
    }),
    operation({
      id: 'deletePartner',
      method: 'DELETE',
      path: '/partners/{partnerId}',
      group: 'Partners',
      summary: 'Remove a partner that is banned or deactivated',
      description: 'With its links. What it has earned stays on record.',
      access: WRITE,
      params: PARAMS,
      response: { status: 200, description: 'The partner is gone.', schema: deletedId },
      run: ({ params }, actor) => partners.delete(actor, params.partnerId),
    }),
  ];
}

type Filters = z.output<z.ZodObject<typeof filters>>;

function filterOf(query: Filters): EnrolmentFilter {
  const { groupId, country, partnerTagId, ...plain } = query;
  return {
    ...plain,
    groupId: readListFilter(groupId),
    country: readListFilter(country),
    partnerTagId: readListFilter(partnerTagId),
  };
}

const orNull = (ms: number | null) => (ms === null ? null : isoTime(ms));

function presentDetailed(shown: ShownPartner): z.input<typeof detailedSchema> {
  const { lastLeadAt, lastConversionAt, riskMonitoringDisabledAt, groupMoveDisabledAt } = shown.enrolment;
  return {
    ...presentEnrolled(shown),
    lastLeadAt: orNull(lastLeadAt),
    lastConversionAt: orNull(lastConversionAt),
    riskMonitoring: riskMonitoringDisabledAt === null,
    groupMoves: groupMoveDisabledAt === null,
  };
}
