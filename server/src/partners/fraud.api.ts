// What looks like fraud, over HTTP.
import { z } from 'zod';
import { idParams, type Operation, operation, requires } from '../http/operation.ts';
import { listQuery } from '../http/pagination.ts';
import { isoTime } from '../kernel/clock.ts';
import { FRAUD_GROUP_STATUSES, type FraudEvent, type FraudGroup } from './fraud.store.ts';
import type { Fraud } from './fraud.ts';
import { AD_PLATFORMS, FRAUD_TYPES } from './fraud-rules.ts';

const READ = requires('partners.read', 'advanced');
const WRITE = requires('partners.write', 'advanced');
const textOrNull = z.string().nullable();

const domains = z.array(z.string().trim().toLowerCase().min(1).max(190)).max(1_000);
const configSchema = z.object({
  domains: domains
    .optional()
    .describe('More disposable domains, or hosts that visitors may not come from; * stands for anything.'),
  platforms: z.array(z.enum(AD_PLATFORMS)).max(20).optional().describe('Only google if absent.'),
  allowedCampaignIds: z.array(z.string().trim().min(1).max(190)).max(1_000).optional(),
});

const ruleSchema = z
  .object({ type: z.enum(FRAUD_TYPES), enabled: z.boolean(), config: configSchema })
  .meta({ id: 'FraudRule', description: 'A rule by which fraud is looked for.' });

const groupSchema = z
  .object({
    id: z.string(),
    partnerId: z.string(),
    type: z.enum(FRAUD_TYPES),
    status: z.enum(FRAUD_GROUP_STATUSES),
    eventCount: z.number(),
    lastEventAt: z.iso.datetime(),
    resolvedAt: z.iso.datetime().nullable(),
    resolutionReason: textOrNull,
    userId: textOrNull.describe('Who resolved it.'),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'FraudGroup', description: 'What a rule has found about a partner.' });

const eventSchema = z
  .object({
    id: z.string(),
    fraudGroupId: z.string(),
    partnerId: z.string(),
    type: z.enum(FRAUD_TYPES),
    customerId: textOrNull,
    linkId: textOrNull,
    commissionId: textOrNull,
    metadata: z.record(z.string(), z.unknown()).nullable().describe('What exactly was found.'),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'FraudEvent', description: 'One thing that a rule has found.' });

export function fraudOperations({ fraud }: { fraud: Fraud }): Operation[] {
  return [...ruleOperations(fraud), ...findingOperations(fraud), resolving(fraud)];
}

const rulesAnswer = z.array(ruleSchema);

function ruleOperations(fraud: Fraud): Operation[] {
  return [
    operation({
      id: 'listFraudRules',
      method: 'GET',
      path: '/fraud/rules',
      group: 'Fraud',
      summary: 'List the rules by which fraud is looked for',
      access: READ,
      response: { status: 200, description: 'All rules.', schema: rulesAnswer },
      run: async (_call, actor) => present(await fraud.listRules(actor)),
    }),
    operation({
      id: 'updateFraudRules',
      method: 'PATCH',
      path: '/fraud/rules',
      group: 'Fraud',
      summary: 'Change rules',
      description: 'Rules that are not named stay as they are.',
      access: WRITE,
      body: z.object({
        rules: z
          .array(ruleSchema.partial({ enabled: true, config: true }))
          .min(1)
          .max(FRAUD_TYPES.length),
      }),
      response: { status: 200, description: 'All rules as they are now.', schema: rulesAnswer },
      run: async ({ body }, actor) => present(await fraud.updateRules(actor, body.rules)),
    }),
  ];
}

const present = (rules: Awaited<ReturnType<Fraud['listRules']>>) =>
  rules.map(({ type, enabled, config }) => ({
    type,
    enabled,
    config: config as z.input<typeof configSchema>,
  }));

function findingOperations(fraud: Fraud): Operation[] {
  const common = { type: z.enum(FRAUD_TYPES).optional(), partnerId: z.string().min(1).optional() };
  return [
    operation({
      id: 'listFraudGroups',
      method: 'GET',
      path: '/fraud/groups',
      group: 'Fraud',
      summary: 'List findings by partner and rule',
      access: READ,
      query: z.object({
        ...common,
        status: z.enum(FRAUD_GROUP_STATUSES).optional(),
        ...listQuery({ sortBy: ['lastEventAt', 'createdAt'], defaultOrder: 'desc' }),
      }),
      response: { status: 200, description: 'The findings.', schema: z.array(groupSchema) },
      run: async ({ query }, actor) => (await fraud.listGroups(actor, query, query)).map(presentGroup),
    }),
    operation({
      id: 'listFraudEvents',
      method: 'GET',
      path: '/fraud/events',
      group: 'Fraud',
      summary: 'List findings one by one',
      access: READ,
      query: z.object({
        ...common,
        groupId: z.string().min(1).optional().describe('The id of a group of findings.'),
        ...listQuery({ sortBy: ['createdAt'], defaultOrder: 'desc' }),
      }),
      response: { status: 200, description: 'The findings.', schema: z.array(eventSchema) },
      run: async ({ query }, actor) => (await fraud.listEvents(actor, query, query)).map(presentEvent),
    }),
    operation({
      id: 'getFraudGroup',
      method: 'GET',
      path: '/fraud/groups/{id}',
      group: 'Fraud',
      summary: 'Retrieve findings about a partner',
      access: READ,
      params: idParams('group of findings'),
      response: { status: 200, description: 'The findings.', schema: groupSchema },
      run: async ({ params }, actor) => presentGroup(await fraud.getGroup(actor, params.id)),
    }),
  ];
}

function resolving(fraud: Fraud): Operation {
  return operation({
    id: 'updateFraudGroup',
    method: 'PATCH',
    path: '/fraud/groups/{id}',
    group: 'Fraud',
    summary: 'Say that somebody has looked',
    description: 'Commissions that nothing else holds are pending again.',
    access: WRITE,
    params: idParams('group of findings'),
    body: z.object({
      status: z.literal('resolved'),
      resolutionReason: z.string().trim().max(1_000).nullish(),
    }),
    response: { status: 200, description: 'The findings as they are now.', schema: groupSchema },
    run: async ({ params, body }, actor) =>
      presentGroup(await fraud.resolve(actor, params.id, body.resolutionReason ?? null)),
  });
}

function presentGroup(group: FraudGroup): z.input<typeof groupSchema> {
  const { id, partnerId, type, status, eventCount, resolutionReason, userId } = group;
  return {
    id,
    partnerId,
    type,
    status,
    eventCount,
    lastEventAt: isoTime(group.lastEventAt),
    resolvedAt: group.resolvedAt === null ? null : isoTime(group.resolvedAt),
    resolutionReason,
    userId,
    createdAt: isoTime(group.createdAt),
  };
}

function presentEvent(event: FraudEvent): z.input<typeof eventSchema> {
  const { id, fraudGroupId, partnerId, type, customerId, linkId, commissionId, metadata } = event;
  return {
    id,
    fraudGroupId,
    partnerId,
    type,
    customerId,
    linkId,
    commissionId,
    metadata: metadata as Record<string, unknown> | null,
    createdAt: isoTime(event.createdAt),
  };
}
