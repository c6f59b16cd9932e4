// Payment providers over HTTP: how a workspace connects one, and where the provider sends its events.
import { z } from 'zod';
import { deletedId, type Operation, operation, requires } from '../http/operation.ts';
import { isoTime } from '../kernel/clock.ts';
import { IMPORT_STATUSES, type InvoiceImport } from './invoice-import.store.ts';
import type { InvoiceImports } from './invoice-imports.ts';
import type { Bridge } from './payment.store.ts';
import type { Payments } from './payments.ts';
import { STRIPE_EVENTS } from './stripe-events.ts';

const MAX_EVENT_BYTES = 1_048_576;

const bridgeSchema = z.object({
  provider: z.literal('stripe'),
  webhookUrl: z.url().describe('Where Stripe is to send its events.'),
  events: z.array(z.string()).describe('The events to choose in Stripe.'),
  hasApiKey: z.boolean().describe('Whether Stripe can be asked. The key itself is never shown.'),
  invoiceImports: z
    .array(
      z.object({
        customerId: z.string(),
        partnerId: z.string(),
        status: z.enum(IMPORT_STATUSES),
        recorded: z.int().describe('How many invoices became sales.'),
        error: z.string().nullable().describe('Why it failed, or is tried again.'),
        createdAt: z.iso.datetime(),
        updatedAt: z.iso.datetime(),
      }),
    )
    .describe('The latest imports of what customers have paid; they are shown for 30 days.'),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});

const bridgeBody = z.object({
  webhookSecret: z
    .string()
    .trim()
    .regex(/^whsec_[\w+/=-]{8,200}$/, 'takes the signing secret that Stripe shows, whsec_…')
    .describe('The signing secret of the endpoint in Stripe. It is never shown again.'),
  apiKey: z
    .string()
    .trim()
    .regex(/^rk_(live|test)_[A-Za-z0-9_]{8,240}$/, 'takes a restricted key of Stripe, rk_live_…')
    .nullish()
    .describe(
      'A restricted key that may read invoices, charges and promotion codes: for importing invoices and for discount codes. It is never shown again. Left out: as it was; null: none.',
    ),
});

const eventBody = z.looseObject({
  type: z.string().max(200),
  data: z.looseObject({ object: z.looseObject({}) }),
});

const receiptSchema = z.object({
  received: z.literal(true),
  recorded: z.array(z.enum(['lead', 'sale', 'refund'])),
  ignored: z.array(z.string()).describe('Why something of the event was not recorded.'),
});

export interface PaymentServices {
  readonly payments: Payments;
  readonly invoiceImports: Pick<InvoiceImports, 'list'>;
}

export function paymentOperations({ payments, invoiceImports }: PaymentServices): Operation[] {
  const group = 'Payments';
  const path = '/integrations/stripe';
  const response = { status: 200, description: 'The connection.', schema: bridgeSchema } as const;
  const show = async (workspaceId: string, bridge: Bridge, origin: string) =>
    present(workspaceId, bridge, await invoiceImports.list(workspaceId), origin);
  return [
    operation({
      id: 'getStripeIntegration',
      method: 'GET',
      path,
      group,
      summary: 'Retrieve the connection to Stripe',
      access: requires('integrations.read', 'business'),
      response,
      run: async ({ request }, { workspaceId }) =>
        show(workspaceId, await payments.getStripe(workspaceId), request.origin),
    }),
    operation({
      id: 'connectStripe',
      method: 'PUT',
      path,
      group,
      summary: 'Take sales from Stripe',
      description:
        'Create a webhook endpoint in Stripe with the address and events shown here, and send its signing secret.',
      access: requires('integrations.write', 'business'),
      body: bridgeBody,
      response,
      run: async ({ body, request }, { workspaceId }) => {
        const { webhookSecret: secret, apiKey } = body;
        const bridge = await payments.connectStripe(workspaceId, { secret, apiKey });
        return show(workspaceId, bridge, request.origin);
      },
    }),
    operation({
      id: 'disconnectStripe',
      method: 'DELETE',
      path,
      group,
      summary: 'Take no more sales from Stripe',
      access: requires('integrations.write', 'business'),
      response: { status: 200, description: 'The workspace.', schema: deletedId },
      run: async (_call, { workspaceId }) => {
        await payments.disconnectStripe(workspaceId);
        return { id: workspaceId };
      },
    }),
    operation({
      id: 'receiveStripeEvent',
      method: 'POST',
      path: '/stripe/webhook/{workspaceId}',
      group,
      summary: 'Where Stripe sends its events',
      description: 'Signed by Stripe. An event that comes again changes nothing.',
      access: { by: 'nobody' },
      params: z.object({ workspaceId: z.string().min(1) }),
      body: eventBody,
      bodyLimitBytes: MAX_EVENT_BYTES,
      response: { status: 200, description: 'What became of the event.', schema: receiptSchema },
      run: async ({ params, body, bytes = new Uint8Array(), request }) => {
        const signature = request.header('stripe-signature');
        const receipt = await payments.receiveStripe(params.workspaceId, { signature, bytes, event: body });
        return { received: true as const, ...receipt };
      },
    }),
  ];
}

function present(
  workspaceId: string,
  { apiKey, createdAt, updatedAt }: Bridge,
  imports: readonly InvoiceImport[],
  origin: string,
): z.input<typeof bridgeSchema> {
  return {
    provider: 'stripe',
    webhookUrl: `${origin}/api/stripe/webhook/${encodeURIComponent(workspaceId)}`,
    events: [...STRIPE_EVENTS],
    hasApiKey: apiKey !== null,
    invoiceImports: imports.map(({ customerId, partnerId, status, recorded, error, ...times }) => ({
      customerId,
      partnerId,
      status,
      recorded,
      error,
      createdAt: isoTime(times.createdAt),
      updatedAt: isoTime(times.updatedAt),
    })),
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  };
}
