// Lists and counts agree with a plain filter over all customers, whatever the filters, the order and the page.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { Database } from '../db/database.ts';
import { createTextSearch } from '../db/text-search.ts';
import { eachDatabase } from '../testing/databases.ts';
import { createWorkspaceStore } from '../workspaces/workspace.store.ts';
import { createCustomerStore } from './customer.store.ts';
import { type Customer, newCustomer, searchTextOf } from './customer.ts';
import {
  CUSTOMER_SORTS,
  type CustomerFilter,
  type CustomerSort,
  createCustomerListStore,
} from './customer-list.store.ts';

const COUNTRIES = ['US', 'DE', 'LI', null];
const LINKS = ['link_a', 'link_b', null];

/** Numbers that look random and are the same in every run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function sampleOf(index: number, random: (below: number) => number): Customer {
  const pick = <T>(values: readonly T[]): T => values[random(values.length)] as T;
  const partnerId = pick(['pn_1', 'pn_2', null, null]);
  const draft = {
    externalId: `user-${index}`,
    name: pick(['Ada Ray', 'Bob', 'Zoë', null]),
    email: pick([`Person${random(30)}@Acme.test`, null]),
    country: pick(COUNTRIES),
    linkId: pick(LINKS),
    partnerId,
    programId: partnerId && 'prog_1',
  };
  const workspaceId = index % 5 === 0 ? 'ws_2' : 'ws_1';
  const made = newCustomer(draft, {
    id: `cus_${random(1_000_000)}_${index}`,
    workspaceId,
    nowMs: 1_000 + random(60),
  });
  const sales = random(3);
  return {
    ...made,
    sales,
    saleAmount: sales * random(5) * 100,
    firstSaleAt: sales > 0 ? 2_000 + random(50) : null,
    subscriptionCanceledAt: random(4) === 0 ? 3_000 + random(9) : null,
  };
}

const FILTERS: Omit<CustomerFilter, 'workspaceId'>[] = [
  {},
  { country: 'US' },
  { country: 'LI', linkId: 'link_b' },
  { linkId: 'link_a' },
  { programId: 'prog_1' },
  { programId: 'prog_1', partnerId: 'pn_2' },
  { partnerId: 'pn_1', programId: 'prog_1', country: 'DE' },
  { email: 'PERSON7@acme.test' },
  { externalId: 'user-42' },
  { externalId: 'user-42', country: 'XX' },
  { search: 'ada' },
  { search: 'ER-1' },
  { search: 'o' },
  { search: 'ZOË' },
  { search: 'erson1', country: 'US' },
  { search: 'nobody at all' },
  { search: 'ada ray\nuser' },
  { search: '%' },
  { country: 'XX' },
];

function matches(customer: Customer, filter: CustomerFilter): boolean {
  const same = (['workspaceId', 'externalId', 'country', 'linkId', 'programId', 'partnerId'] as const).every(
    (name) => filter[name] === undefined || customer[name] === filter[name],
  );
  const email = filter.email === undefined || customer.email?.toLowerCase() === filter.email.toLowerCase();
  const lines = searchTextOf(customer).split('\n');
  const { search } = filter;
  return same && email && (search === undefined || lines.some((line) => line.includes(search.toLowerCase())));
}

function inOrder(sortBy: CustomerSort, direction: 'asc' | 'desc') {
  const sign = direction === 'asc' ? 1 : -1;
  return (a: Customer, b: Customer) =>
    sign * ((a[sortBy] ?? 0) - (b[sortBy] ?? 0) || a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
}

eachDatabase('lists of customers', (databases) => {
  let db: Database;
  const all: Customer[] = [];
  const forever = new AbortController().signal;

  const stores = () => {
    const search = createTextSearch(db, 'customer');
    // So small that a few hundred customers take every way that millions do.
    const small = createCustomerListStore(db, search, { few: 25, firstChunk: 7, largestChunk: 30 });
    return { search, each: { small, large: createCustomerListStore(db, search) } };
  };

  before(async () => {
    db = await databases.open();
    const random = createRandom(7);
    const store = createCustomerStore(db);
    await db.write(async () => {
      for (const id of ['ws_1', 'ws_2']) {
        const workspace = { id, name: id, slug: id, plan: 'business', inviteCode: id } as const;
        await createWorkspaceStore(db).insert(workspace, 1);
      }
      for (let i = 0; i < 400; i++) {
        const customer = sampleOf(i, random);
        all.push(customer);
        await store.insert(customer);
      }
    });
  });

  for (const indexed of [false, true]) {
    test(`agree with a plain filter, ${indexed ? 'after' : 'before'} the index of texts is made`, async () => {
      const { search, each } = stores();
      if (indexed) await search.index(forever);
      let compared = 0;
      for (const filter of FILTERS.map((rest) => ({ workspaceId: 'ws_1', ...rest }))) {
        const expected = all.filter((customer) => matches(customer, filter));
        for (const [size, lists] of Object.entries(each)) {
          assert.equal(await lists.count(filter), expected.length, JSON.stringify({ filter, size }));
          for (const sortBy of CUSTOMER_SORTS) {
            const direction = compared % 2 === 0 ? 'asc' : 'desc';
            const sorted = expected.toSorted(inOrder(sortBy, direction));
            for (const [skip, take] of [
              [0, 10],
              [35, 20],
            ] as const) {
              const found = await lists.list(filter, { sortBy, direction }, { skip, take });
              const note = JSON.stringify({ filter, size, sortBy, direction, skip });
              assert.deepEqual(found, sorted.slice(skip, skip + take), note);
              compared += 1;
            }
          }
        }
      }
      assert.equal(compared, FILTERS.length * 2 * CUSTOMER_SORTS.length * 2);
    });
  }

  test('go on after a customer, in both directions and with any filter', async () => {
    for (const filter of FILTERS.map((rest) => ({ workspaceId: 'ws_1', ...rest }))) {
      for (const direction of ['asc', 'desc'] as const) {
        const sorted = all.filter((c) => matches(c, filter)).toSorted(inOrder('createdAt', direction));
        const found: Customer[] = [];
        for (let after: Customer | undefined; ; after = found.at(-1)) {
          const order = { sortBy: 'createdAt', direction, after } as const;
          const page = await stores().each.small.list(filter, order, { skip: 0, take: 23 });
          if (page.length === 0) break;
          found.push(...page);
        }
        assert.deepEqual(found, sorted, JSON.stringify({ filter, direction }));
      }
    }
  });
});
