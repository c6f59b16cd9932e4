// Leads and sales over HTTP: from servers with a key, and from pages with the publishable key of the workspace.
import { z } from 'zod';
import { PAYMENT_PROCESSORS } from '../analytics/conversion-record.ts';
import { MAX_EXTERNAL_ID_LENGTH } from '../customers/customer.ts';
import { type Operation, operation } from '../http/operation.ts';
import { AppError } from '../kernel/errors.ts';
import type { ClickTracking } from './click-tracking.ts';
import { LEAD_MODES, type LeadRequest, type NamedCustomer, type SaleRequest } from './conversion.ts';
import type { Conversions } from './conversions.ts';
import { MAX_AMOUNT, USD } from './currencies.ts';

const MAX_METADATA_LENGTH = 10_000;
const MAX_CLICK_ID_LENGTH = 255;
const MAX_INVOICE_ID_LENGTH = 255;
/** What existing callers may send; pages are held to less. */
const MAX_PAGE_EXTERNAL_ID_LENGTH = 100;

const externalId = z.string().trim().min(1).max(MAX_EXTERNAL_ID_LENGTH);
const eventName = z.string().trim().min(1).max(255);
const metadata = z
  .record(z.string(), z.unknown())
  .refine(
    (value) => JSON.stringify(value).length <= MAX_METADATA_LENGTH,
    `must have at most ${MAX_METADATA_LENGTH} characters as JSON`,
  )
  .nullish()
  .describe(`Any JSON object, at most ${MAX_METADATA_LENGTH} characters.`);

const customerFields = {
  customerName: z.string().trim().max(100).nullish().describe('For a new customer.'),
  customerEmail: z.email().max(100).nullish().describe('For a new customer.'),
  customerAvatar: z
    .string()
    .nullish()
    .describe('For a new customer: the address of an image, or the image as a data URL.'),
};

/** Servers may name the customer in three ways; the last two are kept for older callers. */
const namedByServer = {
  customerExternalId: externalId
    .optional()
    .describe('The id of the customer in your own system. Required, under this name or an older one.'),
  externalId: externalId.nullish().meta({ deprecated: true }),
  customerId: externalId.nullish().meta({ deprecated: true }),
};
const namedByPage = {
  customerExternalId: externalId
    .max(MAX_PAGE_EXTERNAL_ID_LENGTH)
    .describe('The id of the customer in your own system.'),
};

const clickId = z.string().trim().max(MAX_CLICK_ID_LENGTH);
const leadFields = {
  eventName: eventName.describe('What the lead is called. A customer has one lead of a name.'),
  ...customerFields,
  mode: z
    .enum(LEAD_MODES)
    .default('async')
    .describe(
      'deferred only makes the customer: a later call without clickId records the lead. The others are recorded when the answer comes.',
    ),
  eventQuantity: z.int().min(1).max(100).nullish().describe('How many leads to record; 1 by default.'),
  metadata,
};

const saleFields = {
  amount: z
    .int()
    .min(0)
    .max(MAX_AMOUNT)
    .describe('In the smallest unit of the currency; whole units for currencies without one.'),
  currency: z
    .string()
    .trim()
    .toLowerCase()
    .regex(/^[a-z]{3}$/, 'must be a code of three letters')
    .default(USD)
    .describe('Converted to US dollars by the table of rates of this installation.'),
  eventName: z.string().trim().max(255).default('Purchase').describe('What the sale is called.'),
  paymentProcessor: z.enum(PAYMENT_PROCESSORS).default('custom'),
  invoiceId: z
    .string()
    .trim()
    .max(MAX_INVOICE_ID_LENGTH)
    .nullish()
    .describe('A sale with the same invoice is recorded once, whoever sends it again.'),
  metadata,
  leadEventName: z
    .string()
    .max(255)
    .nullish()
    .describe('The lead that gets the credit, by its exact name; the latest by default.'),
  clickId: clickId.nullish().describe('For a customer that is new: the click that brought it.'),
  ...customerFields,
};

const leadBody = z.object({
  clickId: clickId.nullish().describe('The click; without one, that which brought the customer.'),
  ...namedByServer,
  ...leadFields,
});
const pageLeadBody = z.object({
  clickId: clickId.describe('The click; empty: that which brought the customer.'),
  ...namedByPage,
  ...leadFields,
});
const saleBody = z.object({ ...namedByServer, ...saleFields });
const pageSaleBody = z.object({ ...namedByPage, ...saleFields });

const textOrNull = z.string().nullable();
const customerShape = { name: textOrNull, email: textOrNull, avatar: textOrNull, externalId: textOrNull };
const leadSchema = z.object({
  click: z.object({ id: z.string() }),
  link: z
    .object({
      id: z.string(),
      domain: z.string(),
      key: z.string(),
      shortLink: z.string(),
      url: z.string(),
      partnerId: textOrNull,
      programId: textOrNull,
      tenantId: textOrNull,
      externalId: textOrNull,
    })
    .nullable(),
  customer: z.object(customerShape),
});
const saleSchema = z.object({
  eventName: z.string(),
  customer: z
    .object({ id: z.string(), ...customerShape })
    .nullable()
    .describe('Null when nothing was sold: nobody to credit, or no money.'),
  sale: z
    .object({
      amount: z.int().describe('In US cents.'),
      currency: z.string(),
      paymentProcessor: z.enum(PAYMENT_PROCESSORS),
      invoiceId: textOrNull,
      metadata: z.record(z.string(), z.unknown()).nullable(),
    })
    .nullable(),
});

const ONCE =
  'A lead of the same name of the same customer is recorded once; a repeat gets the first answer again.';
const BY_SERVER = { by: 'key', roles: ['owner', 'member'], plan: 'business' } as const;
const FROM_PAGE = {
  access: { by: 'publishable_key', plan: 'business' },
  cors: 'POST',
} as const;
const TRACKING = { method: 'POST', group: 'Tracking' } as const;
const LEAD = {
  status: 200,
  description: 'The click, the link and the customer.',
  schema: leadSchema,
} as const;
const SALE = { status: 200, description: 'The customer and the sale.', schema: saleSchema } as const;

export interface ConversionServices {
  readonly conversions: Conversions;
  readonly clickTracking: Pick<ClickTracking, 'assertSite'>;
}

export function conversionOperations({ conversions, clickTracking }: ConversionServices): Operation[] {
  return [
    operation({
      ...TRACKING,
      id: 'trackLead',
      path: '/track/lead',
      summary: 'Track a lead',
      description: ONCE,
      access: BY_SERVER,
      body: leadBody,
      response: LEAD,
      run: ({ body }, { workspaceId }) => conversions.trackLead(workspaceId, leadRequest(body, nameOf(body))),
    }),
    operation({
      ...TRACKING,
      id: 'trackSale',
      path: '/track/sale',
      summary: 'Track a sale',
      description: 'The sale is credited to the click of the customer’s lead.',
      access: BY_SERVER,
      body: saleBody,
      response: SALE,
      run: ({ body }, { workspaceId }) => conversions.trackSale(workspaceId, saleRequest(body, nameOf(body))),
    }),
    operation({
      ...TRACKING,
      id: 'trackLeadFromPage',
      path: '/track/lead/client',
      summary: 'Track a lead from a page',
      description: `${ONCE} Only sites among the allowed hostnames of the workspace may.`,
      ...FROM_PAGE,
      body: pageLeadBody,
      response: LEAD,
      run: async ({ body, request }, actor) => {
        await clickTracking.assertSite(actor.workspaceId, request);
        return conversions.trackLead(actor.workspaceId, ofPage(leadRequest(body, body.customerExternalId)));
      },
    }),
    operation({
      ...TRACKING,
      id: 'trackSaleFromPage',
      path: '/track/sale/client',
      summary: 'Track a sale from a page',
      description: 'Only sites among the allowed hostnames of the workspace may.',
      ...FROM_PAGE,
      body: pageSaleBody,
      response: SALE,
      run: async ({ body, request }, actor) => {
        await clickTracking.assertSite(actor.workspaceId, request);
        return conversions.trackSale(actor.workspaceId, ofPage(saleRequest(body, body.customerExternalId)));
      },
    }),
  ];
}

interface NamedByServer {
  readonly customerExternalId?: string | undefined;
  readonly externalId?: string | null | undefined;
  readonly customerId?: string | null | undefined;
}

function nameOf(body: NamedByServer): string {
  const name = body.customerExternalId ?? body.externalId ?? body.customerId;
  if (name) return name;
  throw new AppError('bad_request', 'invalid_type: customerExternalId: is required');
}

type LeadBody = z.output<typeof leadBody> | z.output<typeof pageLeadBody>;

function leadRequest(body: LeadBody, customerExternalId: string): LeadRequest {
  return {
    ...introductionOf(body),
    customerExternalId,
    clickId: body.clickId ?? '',
    eventName: body.eventName,
    mode: body.mode,
    eventQuantity: body.eventQuantity ?? 1,
    metadata: body.metadata ?? null,
  };
}

type SaleBody = z.output<typeof saleBody> | z.output<typeof pageSaleBody>;

function saleRequest(body: SaleBody, customerExternalId: string): SaleRequest {
  return {
    ...introductionOf(body),
    customerExternalId,
    clickId: body.clickId ?? '',
    eventName: body.eventName || 'Purchase',
    amount: body.amount,
    currency: body.currency,
    paymentProcessor: body.paymentProcessor,
    invoiceId: body.invoiceId || null,
    leadEventName: body.leadEventName || null,
    metadata: body.metadata ?? null,
  };
}

/** Everybody can read the key of a page: no files are kept for it. */
function ofPage<R extends NamedCustomer>(request: R): R {
  return request.customerAvatar?.startsWith('data:') ? { ...request, customerAvatar: null } : request;
}

function introductionOf(body: LeadBody | SaleBody) {
  return {
    customerName: body.customerName || null,
    customerEmail: body.customerEmail ?? null,
    customerAvatar: body.customerAvatar || null,
  };
}
