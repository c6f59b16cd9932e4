import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clickRecord, leadRecord, saleRecord } from '../testing/click-records.ts';
import { readChanges } from './change-batch.ts';
import { packClicks } from './packed-clicks.ts';

const change = (type: string, payload: unknown, outboxId = 1) => ({
  outboxId,
  workspaceId: 'ws_1',
  type,
  payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
  createdAtMs: 1,
});

test('leads, sales, partners and erasures are read from changes, each once', () => {
  const enrolment = {
    programId: 'prog_1',
    partnerId: 'pn_1',
    groupId: 'g',
    partnerTagIds: ['t'],
    deleted: false,
  };
  const unstorable = { ...clickRecord(2), id: 7 as unknown as string };
  const batch = readChanges([
    change('lead.created', { leads: [leadRecord('a'), leadRecord('b')] }),
    change('lead.created', { leads: [leadRecord('a', { metadata: '{}' })] }),
    change('sale.created', { sales: [saleRecord('c')] }),
    change('clicks.imported', packClicks([clickRecord(1), clickRecord(1), unstorable])),
    change('clicks.imported', {}),
    change('enrolment.changed', { ...enrolment, groupId: '' }, 4),
    change('enrolment.changed', enrolment, 5),
    change('customer.erased', { customerId: 'cus_1', clickIds: ['x'] }),
    change('folder.created', { id: 'fold_1' }),
  ]);
  assert.deepEqual(batch, {
    links: [],
    partners: [
      {
        workspaceId: 'ws_1',
        programId: 'prog_1',
        partnerId: 'pn_1',
        groupId: 'g',
        tagIds: ['t'],
        deleted: false,
        changeId: 5,
      },
    ],
    importedClicks: [clickRecord(1)],
    leads: [leadRecord('a'), leadRecord('b')],
    sales: [saleRecord('c')],
    erasures: [{ workspaceId: 'ws_1', customerId: 'cus_1', clickIds: ['x'] }],
  });
});

test('what cannot be stored is passed over and spoils nothing else', () => {
  const { click: _, ...noClick } = leadRecord('a');
  const batch = readChanges([
    change('lead.created', { leads: [noClick, leadRecord('b'), { ...leadRecord('c'), timeMs: 'soon' }] }),
    change('sale.created', { sales: [{ ...saleRecord('d'), amount: 1.5 }, saleRecord('e')] }),
    change('lead.created', '{'),
    change('sale.created', {}),
    change('enrolment.changed', { partnerId: 7 }),
    change('customer.erased', null),
  ]);
  assert.deepEqual([batch.leads.map(({ id }) => id), batch.sales.map(({ id }) => id)], [['b'], ['e']]);
  assert.deepEqual([batch.partners, batch.erasures], [[], []]);
  assert.deepEqual(batch.leads[0]?.click, clickRecord(1));
});
