// Commissions over HTTP.
import { z } from 'zod';
import { type Operation, operation } from '../http/operation.ts';
import { checkCursor, cursorListQuery } from '../http/pagination.ts';
import type { Clock } from '../kernel/clock.ts';
import { invalid } from '../kernel/errors.ts';
import { readListFilter } from '../kernel/list-filter.ts';
import { COMMISSION_TYPES } from './commission.ts';
import type { CommissionEntries } from './commission-entries.ts';
import { currency, entryBody, readConversion, readCustom, readImport } from './commission-entry.ts';
import { COMMISSION_SORTS, type CommissionFilter, type MetadataTest } from './commission-list.store.ts';
import { COMMISSION_STATUSES, SETTABLE_STATUSES } from './commission-states.ts';
import { commissionSchema, presentCommission } from './commission-wire.ts';
import type { Commissions } from './commissions.ts';
import { EDITORS, tenantId } from './partner-fields.ts';

export const INTERVALS = ['24h', '7d', '30d', '90d', '1y', 'mtd', 'qtd', 'ytd', 'all'] as const;

/** How lists are asked about time and about metadata: as everything about events is. */
export interface CommissionQuestions {
  readonly readPeriod: (question: {
    readonly interval: (typeof INTERVALS)[number];
    readonly start?: string | undefined;
    readonly end?: string | undefined;
    readonly timezone: string;
  }) => { readonly fromMs: number; readonly toMs: number };
  readonly readMetadata: (query: string) => MetadataTest | undefined;
}

const several = (what: string) =>
  z
    .string()
    .max(10_000)
    .optional()
    .describe(`${what}: one, several with commas, or none of them with a minus in front.`);

const filters = {
  type: several(`Types (${COMMISSION_TYPES.join(', ')})`),
  customerId: z.string().min(1).optional(),
  payoutId: z.string().min(1).optional(),
  partnerId: several('Partners'),
  tenantId: tenantId.optional().describe('The partner with this id in your own system. partnerId wins.'),
  groupId: several('Groups'),
  partnerTagId: several('Partner tags'),
  invoiceId: z.string().min(1).optional().describe('With it no other filter is looked at.'),
  status: z
    .enum(COMMISSION_STATUSES)
    .optional()
    .describe(
      'Without it, and without type, customerId, payoutId and partnerId, those that are duplicate, fraud or canceled are left out.',
    ),
  interval: z.enum(INTERVALS).default('all'),
  start: z.string().max(100).optional(),
  end: z.string().max(100).optional(),
  timezone: z.string().max(100).default('UTC'),
  query: z
    .string()
    .max(10_000)
    .optional()
    .describe("Conditions on the metadata, such as metadata['plan']:'pro'."),
};

const cents = z.int().min(0).max(10_000_000_000_000);
const delta = z.int().min(-10_000_000_000_000).max(10_000_000_000_000);
const changeBody = z.object({
  earnings: cents.optional().describe('What the partner earns, whatever the reward says.'),
  saleAmount: cents.optional().describe('What was sold; the earnings follow.'),
  modifySaleAmount: delta.optional().describe('Added to what was sold; it wins over saleAmount.'),
  currency,
  status: z.enum(SETTABLE_STATUSES).optional().describe('Takes the commission out of its payout.'),
  updateHistoricalCommissions: z
    .boolean()
    .optional()
    .describe('With fraud or canceled: also for other unpaid commissions by the same customer.'),
  amount: cents.optional().meta({ deprecated: true }),
  modifyAmount: delta.optional().meta({ deprecated: true }),
});

/** By which sale amounts are given; the first that is there counts. */
const AMOUNT_FIELDS = ['modifySaleAmount', 'modifyAmount', 'saleAmount', 'amount'] as const;

const PARAMS = z.object({ id: z.string().min(1).describe('The id of the commission.') });
/** Reading asks for a program and nothing else, as existing clients expect. */
const READERS = { by: 'key' } as const;
const WRITERS = { by: 'key', roles: EDITORS.roles } as const;

export interface CommissionServices {
  readonly commissions: Commissions;
  readonly commissionEntries: CommissionEntries;
  readonly commissionQuestions: CommissionQuestions;
  readonly clock: Clock;
}

export function commissionOperations(services: CommissionServices): Operation[] {
  return [entering(services), ...lists(services), ...changes(services)];
}

function entering({ commissions, commissionEntries, clock }: CommissionServices): Operation {
  return operation({
    id: 'createCommission',
    method: 'POST',
    path: '/commissions',
    group: 'Commissions',
    summary: 'Enter a commission',
    description:
      'A custom one is the amount itself. A lead or a sale is recorded as one that was tracked, and earns what the rewards of the partner say.',
    access: EDITORS,
    body: entryBody,
    bodyLimitBytes: 8 * 1024 * 1024,
    response: {
      status: 202,
      description: 'It is recorded.',
      schema: z.object({ success: z.boolean(), message: z.string() }),
    },
    run: async ({ body }, actor) => {
      const nowMs = clock.now();
      if (body.type === 'custom') {
        await commissions.enterCustom(actor, body.partnerId, readCustom(body, nowMs));
        return { success: true, message: body.amount < 0 ? 'Clawback recorded.' : 'Commission recorded.' };
      }
      const sales = readImport(body);
      if (sales) {
        await commissionEntries.importSales(actor, sales);
        return { success: true, message: 'The invoices of the customer are being fetched from Stripe.' };
      }
      await commissionEntries.enter(actor, readConversion(body, nowMs));
      return { success: true, message: `The ${body.type} is recorded; its commission follows the rewards.` };
    },
  });
}

function lists({ commissions, commissionQuestions }: CommissionServices): Operation[] {
  const filterOf = createFilter(commissionQuestions);
  return [
    operation({
      id: 'listCommissions',
      method: 'GET',
      path: '/commissions',
      group: 'Commissions',
      summary: 'List commissions',
      access: READERS,
      query: z.object({ ...filters, ...cursorListQuery({ sortBy: COMMISSION_SORTS, defaultOrder: 'desc' }) }),
      response: { status: 200, description: 'The commissions.', schema: z.array(commissionSchema) },
      run: async ({ query }, actor) => {
        // Clients that walk by cursor send the page they began with again.
        const { page, ...rest } = query;
        const place = query.startingAfter === undefined ? query : rest;
        return (await commissions.list(actor, filterOf(query), checkCursor(place))).map(presentCommission);
      },
    }),
    operation({
      id: 'countCommissions',
      method: 'GET',
      path: '/commissions/count',
      group: 'Commissions',
      summary: 'Count commissions by state',
      access: READERS,
      query: z.object(filters),
      response: {
        status: 200,
        description: 'By state: how many, what they are worth and what was sold, in cents.',
        schema: z.array(
          z.object({
            status: z.enum(COMMISSION_STATUSES),
            count: z.number(),
            earnings: z.number(),
            amount: z.number(),
          }),
        ),
      },
      run: ({ query }, actor) => commissions.count(actor, filterOf(query)),
    }),
  ];
}

function changes({ commissions }: CommissionServices): Operation[] {
  return [
    operation({
      id: 'bulkUpdateCommissions',
      method: 'PATCH',
      path: '/commissions/bulk',
      group: 'Commissions',
      summary: 'Set the state of several commissions',
      description: 'All of them or none.',
      access: WRITERS,
      body: z.object({
        commissionIds: z
          .array(z.string().min(1))
          .min(1)
          .max(100)
          .refine((ids) => new Set(ids).size === ids.length, 'must not name one twice'),
        status: z.enum(SETTABLE_STATUSES),
      }),
      response: {
        status: 200,
        description: 'Their states, in the order of their ids.',
        schema: z.array(z.object({ id: z.string(), status: z.enum(COMMISSION_STATUSES) })),
      },
      run: async ({ body }, actor) => {
        const changed = await commissions.setStatus(actor, body.commissionIds, body.status);
        return changed.map(({ id, status }) => ({ id, status }));
      },
    }),
    operation({
      id: 'getCommission',
      method: 'GET',
      path: '/commissions/{id}',
      group: 'Commissions',
      summary: 'Retrieve a commission',
      access: READERS,
      params: PARAMS,
      response: { status: 200, description: 'The commission.', schema: commissionSchema },
      run: async ({ params }, actor) => presentCommission(await commissions.get(actor, params.id)),
    }),
    operation({
      id: 'updateCommission',
      method: 'PATCH',
      path: '/commissions/{id}',
      group: 'Commissions',
      summary: 'Correct a commission',
      description:
        'Not one that was paid, nor one whose payout is on its way. Where nothing is sold or earned any more it is refunded, and its numbers stay on record.',
      access: WRITERS,
      params: PARAMS,
      body: changeBody,
      response: { status: 200, description: 'The commission as it is now.', schema: commissionSchema },
      run: async ({ params, body }, actor) => {
        const { amount, modifyAmount, ...change } = body;
        const saleAmount = change.saleAmount ?? amount;
        const modifySaleAmount = change.modifySaleAmount ?? modifyAmount;
        const amountField = AMOUNT_FIELDS.find((field) => body[field] !== undefined);
        const wanted = { ...change, saleAmount, modifySaleAmount, amountField };
        return presentCommission(await commissions.update(actor, params.id, wanted));
      },
    }),
  ];
}

type Filters = z.output<z.ZodObject<typeof filters>>;

/** Nothing is older. */
const EARLIEST = '1970-01-01';

function readTypes(text: string | undefined) {
  const types = readListFilter(text);
  const unknown = types?.values.find((type) => !(COMMISSION_TYPES as readonly string[]).includes(type));
  if (unknown !== undefined) throw invalid('type', `must be among ${COMMISSION_TYPES.join(', ')}`);
  return types;
}

function createFilter({ readPeriod, readMetadata }: CommissionQuestions) {
  /** Until `end` alone, or from `start` on; no window means all there is. */
  function windowOf({ interval, start, end, timezone }: Filters): CommissionFilter['window'] {
    if (interval !== 'all' || start !== undefined) return readPeriod({ interval, start, end, timezone });
    return end === undefined ? undefined : readPeriod({ interval, start: EARLIEST, end, timezone });
  }

  return (query: Filters): CommissionFilter & { readonly tenantId?: string | undefined } => {
    const { customerId, payoutId, invoiceId, status } = query;
    return {
      customerId,
      payoutId,
      invoiceId,
      status,
      tenantId: query.tenantId,
      type: readTypes(query.type),
      partnerId: readListFilter(query.partnerId),
      groupId: readListFilter(query.groupId),
      partnerTagId: readListFilter(query.partnerTagId),
      window: windowOf(query),
      metadata: query.query === undefined ? undefined : readMetadata(query.query),
    };
  };
}
