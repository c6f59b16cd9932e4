// Lists and counts of customers: which customers a question means, in which order, and what is shown beside them.
import type { PageRequest } from '../db/page.ts';
import { AppError, invalid } from '../kernel/errors.ts';
import type { Link } from '../links/link.ts';
import type { Customer } from './customer.ts';
import type {
  CustomerFilter,
  CustomerListStore,
  CustomerOrder,
  CustomerSort,
} from './customer-list.store.ts';

export type CustomerQuestion = Omit<CustomerFilter, 'workspaceId'>;

/** The partner who brought a customer, and what the customer is given for it. */
export interface Enrolment {
  readonly partner: {
    readonly id: string;
    readonly name: string;
    readonly email: string | null;
    readonly image: string | null;
  };
  readonly discount: Discount | null;
}

export interface Discount {
  readonly id: string;
  readonly amount: number;
  readonly type: 'percentage' | 'flat';
  readonly maxDuration: number | null;
  readonly couponId: string | null;
  readonly couponTestId: string | null;
  readonly description?: string | null;
  readonly partnersCount?: number | null;
}

/** By partner id; those who are not in the workspace's program are left out. */
export type FindEnrolments = (
  workspaceId: string,
  partnerIds: readonly string[],
) => Promise<ReadonlyMap<string, Enrolment>>;

/** A customer and what belongs to it. */
export interface ExpandedCustomer {
  readonly customer: Customer;
  readonly link: Link | undefined;
  readonly enrolment: Enrolment | undefined;
}

export interface CustomerListsParts {
  readonly store: CustomerListStore;
  readonly findCustomer: (id: string) => Promise<Customer | undefined>;
  readonly findProgramId: (workspaceId: string) => Promise<string | null>;
  readonly findLinks: (ids: readonly string[]) => Promise<readonly Link[]>;
  readonly findEnrolments: FindEnrolments;
}

const EXPORT_PAGE = 500;

export function createCustomerLists(parts: CustomerListsParts) {
  const { store, findCustomer, findProgramId, findLinks, findEnrolments } = parts;

  async function filterFor(workspaceId: string, question: CustomerQuestion): Promise<CustomerFilter> {
    const { email, externalId, search, country, linkId, partnerId, programId } = question;
    const filter = { workspaceId, country, linkId, partnerId, ...whoever({ email, externalId, search }) };
    if (partnerId === undefined && programId === undefined) return filter;
    const own = await findProgramId(workspaceId);
    if (own === null) throw new AppError('not_found', 'This workspace has no partner program.');
    if (programId !== undefined && programId !== own)
      throw new AppError('not_found', `There is no program ${programId}.`);
    return { ...filter, programId: own };
  }

  async function orderFor(workspaceId: string, page: PageRequest<CustomerSort>): Promise<CustomerOrder> {
    const { sortBy, sortOrder, startingAfter, endingBefore } = page;
    const name = startingAfter === undefined ? 'endingBefore' : 'startingAfter';
    const id = page[name];
    if (id === undefined) return { sortBy, direction: sortOrder };
    const after = await findCustomer(id);
    if (after?.workspaceId !== workspaceId) throw invalid(name, `There is no row with the id ${id}.`);
    const backwards = endingBefore !== undefined;
    return { sortBy: 'createdAt', direction: (sortOrder === 'asc') !== backwards ? 'asc' : 'desc', after };
  }

  return {
    async list(
      workspaceId: string,
      question: CustomerQuestion,
      page: PageRequest<CustomerSort>,
    ): Promise<Customer[]> {
      const filter = await filterFor(workspaceId, question);
      const order = await orderFor(workspaceId, page);
      const skip = order.after ? 0 : (page.page - 1) * page.pageSize;
      const found = await store.list(filter, order, { skip, take: page.pageSize });
      // Before a cursor, the nearest were taken from its side; the list still reads in its own direction.
      return order.direction === page.sortOrder ? found : found.reverse();
    },

    async count(workspaceId: string, question: CustomerQuestion): Promise<number> {
      return store.count(await filterFor(workspaceId, question));
    },

    /** All of them, oldest first, page by page; refusals come before the first page. */
    async pages(workspaceId: string, question: CustomerQuestion): Promise<AsyncGenerator<Customer[]>> {
      const filter = await filterFor(workspaceId, question);
      return allPages(store, filter);
    },

    /** With links, partners and discounts, in two queries for all of them. */
    async expand(workspaceId: string, customers: readonly Customer[]): Promise<ExpandedCustomer[]> {
      const links = await findLinks(distinct(customers.map(({ linkId }) => linkId)));
      const byId = new Map(links.map((link) => [link.id, link]));
      const partnerIds = distinct(customers.map(({ partnerId }) => partnerId));
      const enrolments = partnerIds.length === 0 ? undefined : await findEnrolments(workspaceId, partnerIds);
      return customers.map((customer) => ({
        customer,
        link: byId.get(customer.linkId ?? ''),
        enrolment: enrolments?.get(customer.partnerId ?? ''),
      }));
    },
  };
}

export type CustomerLists = ReturnType<typeof createCustomerLists>;

async function* allPages(store: CustomerListStore, filter: CustomerFilter): AsyncGenerator<Customer[]> {
  let after: Customer | undefined;
  do {
    const order: CustomerOrder = { sortBy: 'createdAt', direction: 'asc', after };
    const page = await store.list(filter, order, { skip: 0, take: EXPORT_PAGE });
    if (page.length > 0) yield page;
    after = page.at(-1);
  } while (after);
}

/** Of several ways to name one person the most exact counts; a text with an @ is an e-mail address. */
function whoever({ email, externalId, search }: CustomerQuestion): CustomerQuestion {
  if (email) return { email };
  if (externalId) return { externalId };
  if (!search) return {};
  return search.includes('@') ? { email: search } : { search };
}

function distinct(ids: readonly (string | null)[]): string[] {
  return [...new Set(ids.filter((id) => id !== null))];
}
