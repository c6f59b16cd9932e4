// Customers over HTTP.
import { z } from 'zod';
import { deletedId, type Operation, operation, repliesWith } from '../http/operation.ts';
import { checkCursor, cursorListQuery } from '../http/pagination.ts';
import { isoTime } from '../kernel/clock.ts';
import { csvLine } from '../kernel/csv.ts';
import { textStream } from '../kernel/text-stream.ts';
import { shortLink } from '../links/link.ts';
import {
  type Customer,
  displayName,
  MAX_EMAIL_LENGTH,
  MAX_EXTERNAL_ID_LENGTH,
  MAX_NAME_LENGTH,
} from './customer.ts';
import { CUSTOMER_SORTS } from './customer-list.store.ts';
import type { CustomerLists, CustomerQuestion, ExpandedCustomer } from './customer-lists.ts';
import type { WriteCustomerRecord } from './customer-record.ts';
import type { Customers } from './customers.ts';

const time = z.iso.datetime();
const textOrNull = z.string().nullable();

const discountSchema = z.object({
  id: z.string(),
  amount: z.number(),
  type: z.enum(['percentage', 'flat']),
  maxDuration: z.number().nullable(),
  couponId: textOrNull,
  couponTestId: textOrNull,
  description: textOrNull.optional(),
  partnersCount: z.number().nullable().optional(),
});

export const customerSchema = z
  .object({
    id: z.string().describe('The id of the customer.'),
    name: z.string().describe('The name, else the e-mail address, else a name made up from the id.'),
    email: textOrNull,
    avatar: textOrNull,
    externalId: z.string().describe('What your own system knows the customer by.'),
    stripeCustomerId: textOrNull,
    country: textOrNull,
    sales: z.number().describe('How many sales there were.'),
    saleAmount: z.number().describe('What they amount to, in US cents.'),
    createdAt: time,
    firstSaleAt: time.nullable(),
    subscriptionCanceledAt: time.nullable(),
    link: z
      .object({
        id: z.string(),
        domain: z.string(),
        key: z.string(),
        shortLink: z.string(),
        url: z.string(),
        programId: textOrNull,
      })
      .optional()
      .describe('The link that the customer came through. With includeExpandedFields only, as what follows.'),
    programId: z.string().optional(),
    partner: z
      .object({ id: z.string(), name: z.string(), email: textOrNull, image: textOrNull })
      .optional()
      .describe('Who brought the customer.'),
    discount: discountSchema.optional(),
  })
  .meta({ id: 'Customer', description: 'A customer.' });

type WireCustomer = z.input<typeof customerSchema>;

const email = z.email().max(MAX_EMAIL_LENGTH);
const country = z
  .string()
  .trim()
  .toUpperCase()
  .regex(/^[A-Z]{2}$/, 'must be a country code of two letters, such as US');
const externalId = z.string().trim().min(1).max(MAX_EXTERNAL_ID_LENGTH);
const details = {
  email: email.nullable().optional(),
  name: z.string().trim().max(MAX_NAME_LENGTH).nullable().optional(),
  avatar: z
    .string()
    .nullable()
    .optional()
    .describe('An address, or an image as a data URL, which is kept here.'),
  stripeCustomerId: z.string().trim().min(1).max(255).nullable().optional(),
};

const createBody = z.object({
  ...details,
  externalId: externalId.describe('What your own system knows the customer by; unique in the workspace.'),
  country: country.describe('Two letters.'),
});
const updateBody = z.object({
  ...details,
  externalId: externalId.optional(),
  country: country.optional().describe('Of the customer; events of the past keep theirs.'),
});

const filter = {
  email: z.string().trim().max(MAX_EMAIL_LENGTH).optional().describe('The whole address, in any case.'),
  externalId: z.string().optional().describe('The whole id. Not looked at when there is an email.'),
  search: z
    .string()
    .trim()
    .max(190)
    .optional()
    .describe(
      'With an @, a whole e-mail address; else part of the e-mail address, the external id or the name.',
    ),
  country: z.string().trim().toUpperCase().optional().describe('A country code of two letters.'),
  linkId: z.string().optional().describe('Customers who came through this link.'),
  programId: z.string().optional().describe('Customers of this partner program.'),
  partnerId: z.string().optional().describe('Customers whom this partner brought.'),
};
const includeExpandedFields = z
  .boolean()
  .default(false)
  .describe('Whether to show the link, the program, the partner and the discount too.');

const PARAMS = z.object({
  id: z.string().min(1).describe('The id of the customer, or ext_ and the external id.'),
});
const READ = { by: 'key', plan: 'business' } as const;
const WRITE = { ...READ, roles: ['owner', 'member'] } as const;
/** An image as a data URL may come along. */
const BODY_BYTES = 8 * 1024 * 1024;

const COLUMNS = [
  'id',
  'name',
  'email',
  'avatar',
  'externalId',
  'stripeCustomerId',
  'country',
  'sales',
  'saleAmount',
  'createdAt',
  'firstSaleAt',
  'subscriptionCanceledAt',
  'link',
] as const;

export interface CustomerOperationsParts {
  readonly customers: Customers;
  readonly customerLists: CustomerLists;
  readonly writeCustomerRecord: WriteCustomerRecord;
}

export function customerOperations(parts: CustomerOperationsParts): Operation[] {
  return [...listOperations(parts), ...singleOperations(parts)];
}

function listOperations({ customerLists }: CustomerOperationsParts): Operation[] {
  const common = { method: 'GET', group: 'Customers', access: READ } as const;
  return [
    operation({
      ...common,
      id: 'getCustomers',
      path: '/customers',
      summary: 'List customers',
      query: z.object({
        ...filter,
        includeExpandedFields,
        ...cursorListQuery({ sortBy: CUSTOMER_SORTS, defaultOrder: 'desc' }),
      }),
      response: { status: 200, description: 'The customers.', schema: z.array(customerSchema) },
      run: async ({ query }, { workspaceId }) => {
        const found = await customerLists.list(workspaceId, questionOf(query), checkCursor(query));
        if (!query.includeExpandedFields) return found.map(present);
        return (await customerLists.expand(workspaceId, found)).map(presentExpanded);
      },
    }),
    operation({
      ...common,
      id: 'getCustomersCount',
      path: '/customers/count',
      summary: 'Count customers',
      query: z.object(filter),
      response: { status: 200, description: 'How many customers there are.', schema: z.number() },
      run: ({ query }, { workspaceId }) => customerLists.count(workspaceId, questionOf(query)),
    }),
    operation({
      ...common,
      id: 'exportCustomers',
      path: '/customers/export',
      summary: 'Export customers',
      description: 'All customers of the filter, oldest first, as comma separated values.',
      query: z.object({
        ...filter,
        columns: z
          .array(z.enum(COLUMNS))
          .max(COLUMNS.length)
          .optional()
          .describe('Which columns, in which order. All by default.'),
      }),
      response: { status: 200, description: 'The customers.', ...repliesWith('text/csv; charset=utf-8') },
      run: async ({ query }, { workspaceId }) => {
        const pages = await customerLists.pages(workspaceId, questionOf(query));
        const columns = query.columns?.length ? query.columns : COLUMNS;
        return {
          contentType: 'text/csv; charset=utf-8',
          headers: {
            'Content-Disposition': 'attachment; filename="customers.csv"',
            'Cache-Control': 'no-store',
          },
          body: textStream(csvOf(customerLists, workspaceId, pages, columns)),
        };
      },
    }),
  ];
}

function singleOperations({
  customers,
  customerLists,
  writeCustomerRecord,
}: CustomerOperationsParts): Operation[] {
  const common = { group: 'Customers', params: PARAMS } as const;
  const expansion = z.object({ includeExpandedFields });
  const show = async (customer: Customer, expanded: boolean): Promise<WireCustomer> => {
    if (!expanded) return present(customer);
    const [only] = await customerLists.expand(customer.workspaceId, [customer]);
    return presentExpanded(only as ExpandedCustomer);
  };

  return [
    operation({
      id: 'createCustomer',
      method: 'POST',
      path: '/customers',
      group: 'Customers',
      summary: 'Create a customer',
      description:
        'Customers come into being with their first lead or sale; this is for bringing them in ahead.',
      access: WRITE,
      body: createBody,
      bodyLimitBytes: BODY_BYTES,
      response: { status: 201, description: 'The new customer.', schema: customerSchema },
      run: async ({ body }, { workspaceId }) => {
        const avatar = await customers.storeAvatar(body.avatar);
        return present(
          await customers.create(workspaceId, { ...given(body), externalId: body.externalId, avatar }),
        );
      },
    }),
    operation({
      ...common,
      id: 'getCustomer',
      method: 'GET',
      path: '/customers/{id}',
      summary: 'Get a customer',
      access: READ,
      query: expansion,
      response: { status: 200, description: 'The customer.', schema: customerSchema },
      run: async ({ params, query }, { workspaceId }) =>
        show(await customers.get(workspaceId, params.id), query.includeExpandedFields),
    }),
    operation({
      ...common,
      id: 'updateCustomer',
      method: 'PATCH',
      path: '/customers/{id}',
      summary: 'Update a customer',
      description: 'Fields that are absent stay as they are.',
      access: WRITE,
      query: expansion,
      body: updateBody,
      bodyLimitBytes: BODY_BYTES,
      bodyOptional: true,
      response: { status: 200, description: 'The customer as it is now.', schema: customerSchema },
      run: async ({ params, query, body }, { workspaceId }) => {
        const avatar = body.avatar === undefined ? {} : { avatar: await customers.storeAvatar(body.avatar) };
        const customer = await customers.update(workspaceId, params.id, { ...given(body), ...avatar });
        return show(customer, query.includeExpandedFields);
      },
    }),
    operation({
      ...common,
      id: 'deleteCustomer',
      method: 'DELETE',
      path: '/customers/{id}',
      summary: 'Delete a customer',
      description:
        'Erases the person: name, e-mail address, ids and picture, what was sent along with leads and sales, and the addresses that clicks came from. The events themselves stay, as those of a deleted customer.',
      access: WRITE,
      response: { status: 200, description: 'The customer is gone.', schema: deletedId },
      run: async ({ params }, { workspaceId }) => ({
        id: (await customers.delete(workspaceId, params.id)).id,
      }),
    }),
    operation({
      ...common,
      id: 'exportCustomer',
      method: 'GET',
      path: '/customers/{id}/export',
      summary: 'Export everything about a customer',
      description: 'All that is stored about one person: the customer, its leads, its sales and its clicks.',
      access: WRITE,
      response: { status: 200, description: 'One JSON document.', ...repliesWith('application/json') },
      run: async ({ params }, { workspaceId }) => {
        const customer = await customers.get(workspaceId, params.id);
        return {
          contentType: 'application/json',
          headers: {
            'Content-Disposition': `attachment; filename="${customer.id.replace(/[^\w-]/g, '_')}.json"`,
            'Cache-Control': 'no-store',
          },
          body: textStream(writeCustomerRecord(customer)),
        };
      },
    }),
  ];
}

/** An empty value of a filter is none. */
function questionOf(query: CustomerQuestion): CustomerQuestion {
  const { email, externalId, search, country, linkId, programId, partnerId } = query;
  const all = { email, externalId, search, country, linkId, programId, partnerId };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value));
}

type Details = z.output<typeof updateBody>;

/** What a body says of a customer; an empty name is none. */
function given({ email, name, externalId, stripeCustomerId, country }: Details) {
  return {
    ...(email !== undefined && { email }),
    ...(name !== undefined && { name: name || null }),
    ...(externalId !== undefined && { externalId }),
    ...(stripeCustomerId !== undefined && { stripeCustomerId }),
    ...(country !== undefined && { country }),
  };
}

async function* csvOf(
  lists: CustomerLists,
  workspaceId: string,
  pages: AsyncIterable<Customer[]>,
  columns: readonly (typeof COLUMNS)[number][],
): AsyncGenerator<string> {
  yield csvLine(columns);
  for await (const page of pages) {
    for (const expanded of await lists.expand(workspaceId, page)) {
      const wire = presentExpanded(expanded);
      yield csvLine(columns.map((column) => (column === 'link' ? wire.link?.shortLink : wire[column])));
    }
  }
}

const timeOrNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

export function present(customer: Customer): WireCustomer {
  return {
    id: customer.id,
    name: displayName(customer),
    email: customer.email,
    avatar: customer.avatar,
    externalId: customer.externalId,
    stripeCustomerId: customer.stripeCustomerId,
    country: customer.country,
    sales: customer.sales,
    saleAmount: customer.saleAmount,
    createdAt: isoTime(customer.createdAt),
    firstSaleAt: timeOrNull(customer.firstSaleAt),
    subscriptionCanceledAt: timeOrNull(customer.subscriptionCanceledAt),
  };
}

function presentExpanded({ customer, link, enrolment }: ExpandedCustomer): WireCustomer {
  return {
    ...present(customer),
    ...(link && {
      link: {
        id: link.id,
        domain: link.domain,
        key: link.key,
        shortLink: shortLink(link.domain, link.key),
        url: link.url,
        programId: link.programId,
      },
    }),
    ...(customer.programId !== null && { programId: customer.programId }),
    ...(enrolment && { partner: { ...enrolment.partner } }),
    ...(enrolment?.discount && { discount: { ...enrolment.discount } }),
  };
}
