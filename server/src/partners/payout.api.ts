// Payouts over HTTP.
import { z } from 'zod';
import { type Operation, operation, repliesWith, requires } from '../http/operation.ts';
import { listQuery } from '../http/pagination.ts';
import { readListFilter } from '../kernel/list-filter.ts';
import { tenantId } from './partner-fields.ts';
import { PAYOUT_SORTS } from './payout.store.ts';
import { PAYOUT_STATUSES } from './payout-states.ts';
import {
  EXPORT_FORMATS,
  EXPORT_HEADING,
  exportLine,
  payoutSchema,
  presentPayout,
  type ShownPayout,
} from './payout-wire.ts';
import type { FollowUp, Payouts } from './payouts.ts';

const PARAMS = z.object({ id: z.string().min(1).describe('The id of the payout.') });
/** Reading asks for a program and nothing else, as existing clients expect. */
const READERS = { by: 'key' } as const;
const PAYERS = requires('payouts.write');

const filters = {
  status: z.enum(PAYOUT_STATUSES).optional(),
  partnerId: z.string().min(1).optional(),
  tenantId: tenantId.optional().describe('The partner with this id in your own system. partnerId wins.'),
  invoiceId: z.string().min(1).optional().describe('Payouts that were confirmed together.'),
  groupId: z
    .string()
    .max(10_000)
    .optional()
    .describe('Groups: one, several with commas, or none of them with a minus in front.'),
};
type Filters = z.output<z.ZodObject<typeof filters>>;
const filterOf = (query: Filters) => ({ ...query, groupId: readListFilter(query.groupId) });

export function payoutOperations({ payouts }: { payouts: Payouts }): Operation[] {
  return [...reading(payouts), confirming(payouts), ...following(payouts)];
}

function reading(payouts: Payouts): Operation[] {
  return [
    operation({
      id: 'listPayouts',
      method: 'GET',
      path: '/payouts',
      group: 'Payouts',
      summary: 'List payouts',
      access: READERS,
      query: z.object({ ...filters, ...listQuery({ sortBy: PAYOUT_SORTS, defaultOrder: 'desc' }) }),
      response: { status: 200, description: 'The payouts.', schema: z.array(payoutSchema) },
      run: async ({ query }, actor) => (await payouts.list(actor, filterOf(query), query)).map(presentPayout),
    }),
    operation({
      id: 'exportPayouts',
      method: 'GET',
      path: '/payouts/export',
      group: 'Payouts',
      summary: 'Payouts as a file for a bank or PayPal',
      description:
        'The format paypal is that of PayPal mass payments: recipient, amount, currency, id, note, without a heading. Without invoiceId and status, those that are confirmed and not sent.',
      access: PAYERS,
      query: z.object({ ...filters, format: z.enum(EXPORT_FORMATS).default('csv') }),
      response: { status: 200, description: 'The file.', ...repliesWith('text/csv; charset=utf-8') },
      run: async ({ query }, actor) => {
        const { format, ...named } = query;
        const status = query.status ?? (query.invoiceId === undefined ? 'processing' : undefined);
        const pages = await payouts.walk(actor, filterOf({ ...named, status }));
        return {
          contentType: 'text/csv; charset=utf-8',
          headers: { 'Content-Disposition': `attachment; filename="payouts-${format}.csv"` },
          body: linesOf(pages, EXPORT_HEADING[format], (shown) => exportLine(format, shown)),
        };
      },
    }),
    operation({
      id: 'getPayout',
      method: 'GET',
      path: '/payouts/{id}',
      group: 'Payouts',
      summary: 'Retrieve a payout',
      access: READERS,
      params: PARAMS,
      response: { status: 200, description: 'The payout.', schema: payoutSchema },
      run: async ({ params }, actor) => presentPayout(await payouts.get(actor, params.id)),
    }),
  ];
}

function linesOf(
  pages: AsyncIterable<readonly ShownPayout[]>,
  heading: string,
  line: (shown: ShownPayout) => string,
): ReadableStream<Uint8Array> {
  async function* chunks() {
    yield Buffer.from(heading);
    for await (const page of pages) yield Buffer.from(page.map(line).join(''));
  }
  return ReadableStream.from(chunks());
}

function confirming(payouts: Payouts): Operation {
  return operation({
    id: 'confirmPayouts',
    method: 'POST',
    path: '/payouts/confirm',
    group: 'Payouts',
    summary: 'Confirm that payouts are to be made',
    description:
      'All of them or none, and never one twice. Receivers of the webhook payout.confirmed pay those of programs that pay outside: an answer of 2xx completes the payout.',
    access: PAYERS,
    body: z.object({
      payoutIds: z
        .array(z.string().min(1))
        .min(1)
        .max(100)
        .refine((ids) => new Set(ids).size === ids.length, 'must not name one twice'),
      manual: z
        .boolean()
        .default(false)
        .describe('You pay them by hand, by a file for a bank or PayPal: no receiver is told.'),
    }),
    response: {
      status: 200,
      description: 'What was confirmed.',
      schema: z.object({
        invoiceId: z.string(),
        amount: z.number().describe('In cents.'),
        payouts: z.array(payoutSchema),
      }),
    },
    run: async ({ body }, actor) => {
      const { invoiceId, amount, payouts: shown } = await payouts.confirm(actor, body);
      return { invoiceId, amount, payouts: shown.map(presentPayout) };
    },
  });
}

const traceId = z.string().trim().min(1).max(190).optional().describe('What the bank knows it by.');

/** What a person says became of a payout. */
const STEPS = {
  'mark-sent': { event: 'send', summary: 'The money of a payout is on its way', body: z.object({ traceId }) },
  complete: { event: 'complete', summary: 'The money of a payout has arrived', body: z.object({ traceId }) },
  fail: {
    event: 'fail',
    summary: 'A payout could not be made, or came back',
    body: z.object({ failureReason: z.string().trim().min(1).max(1_000).optional() }),
  },
  retry: { event: 'retry', summary: 'Try a payout that failed once more', body: z.object({}) },
} as const satisfies Record<string, { event: FollowUp; summary: string; body: z.ZodObject }>;

const STEP_IDS = {
  'mark-sent': 'markPayoutSent',
  complete: 'completePayout',
  fail: 'failPayout',
  retry: 'retryPayout',
} as const;

function following(payouts: Payouts): Operation[] {
  return (Object.keys(STEPS) as (keyof typeof STEPS)[]).map((name) => {
    const { event, summary, body } = STEPS[name];
    return operation({
      id: STEP_IDS[name],
      method: 'POST',
      path: `/payouts/{id}/${name}`,
      group: 'Payouts',
      summary,
      access: PAYERS,
      params: PARAMS,
      body: body as z.ZodObject,
      bodyOptional: true,
      response: { status: 200, description: 'The payout as it is now.', schema: payoutSchema },
      run: async (call, actor) =>
        presentPayout(await payouts.change(actor, call.params.id, event, call.body)),
    });
  });
}
