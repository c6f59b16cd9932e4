// What app.ts composes of customers, in one piece: their services, on their stores.

import type { Database } from '../db/database.ts';
import { createTextSearch } from '../db/text-search.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { createCustomerStore } from './customer.store.ts';
import { createCustomerListStore } from './customer-list.store.ts';
import { type CustomerListsParts, createCustomerLists } from './customer-lists.ts';
import { type CustomerRecordParts, createCustomerRecord } from './customer-record.ts';
import { createCustomerTraceStore } from './customer-traces.store.ts';
import { type CustomersParts, createCustomers } from './customers.ts';

export interface CustomerSideParts
  extends Pick<CustomersParts, 'images' | 'forget' | 'forgetClicks' | 'clock' | 'ids'>,
    Pick<CustomerListsParts, 'findLinks' | 'findEnrolments'>,
    Pick<CustomerRecordParts, 'findClick'> {
  readonly db: Database;
  readonly workspaces: Pick<Workspaces, 'get'>;
}

export function createCustomerSide(parts: CustomerSideParts) {
  const { db, workspaces, findLinks, findEnrolments, findClick } = parts;
  const store = createCustomerStore(db);
  const traces = createCustomerTraceStore(db);
  const customerSearch = createTextSearch(db, 'customer');
  return {
    customers: createCustomers({ ...parts, store, traces }),
    customerLists: createCustomerLists({
      store: createCustomerListStore(db, customerSearch),
      findCustomer: store.findById,
      findProgramId: async (workspaceId) => (await workspaces.get(workspaceId)).defaultProgramId,
      findLinks,
      findEnrolments,
    }),
    customerSearch,
    writeCustomerRecord: createCustomerRecord({ traces, findClick }),
  };
}
