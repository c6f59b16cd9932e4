import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { displayName, externalIdOf, foldEmail, searchTextOf, withoutPerson } from './customer.ts';

describe('the name that people see', () => {
  const customer = { id: 'cus_1', name: null, email: null };
  test('is the name, else the e-mail address', () => {
    assert.equal(displayName({ ...customer, name: 'Ada', email: 'ada@acme.test' }), 'Ada');
    assert.equal(displayName({ ...customer, email: 'ada@acme.test' }), 'ada@acme.test');
    assert.equal(displayName({ ...customer, name: '', email: 'ada@acme.test' }), 'ada@acme.test');
  });

  test('is else made up: two words, always the same for the same id', () => {
    assert.match(displayName(customer), /^[A-Z][a-z]+ [A-Z][a-z]+$/);
    assert.equal(displayName(customer), displayName({ ...customer }));
  });

  test('made-up names of neighbours are spread over the lists of words', () => {
    const names = new Set(
      Array.from({ length: 1_000 }, (_, i) => displayName({ ...customer, id: `cus_${i}` })),
    );
    assert.ok(names.size > 500, `${names.size} names`);
  });
});

test('ext_ names the id of the caller, whatever follows it', () => {
  assert.equal(externalIdOf('ext_42'), '42');
  assert.equal(externalIdOf('ext_ext_42'), 'ext_42');
  assert.equal(externalIdOf('ext_'), '');
  assert.equal(externalIdOf('cus_42'), undefined);
});

test('searches look into name, e-mail address and external id, each once and without case', () => {
  const customer = { id: 'cus_1', name: 'Zoë', email: 'Z@Acme.test', externalId: 'U_1' };
  assert.equal(searchTextOf(customer), 'zoë\nz@acme.test\nu_1');
  assert.equal(searchTextOf({ ...customer, name: null }), 'z@acme.test\nu_1');
  assert.equal(foldEmail('ZOE\u0308@x.y'), foldEmail('zoë@X.Y'));
});

test('a document without the person keeps what is not personal', () => {
  const answer = {
    eventName: 'Paid',
    customer: {
      id: 'cus_1',
      name: 'Ada',
      email: 'a@b.c',
      avatar: 'https://x/y',
      externalId: 'u_1',
      sales: 2,
    },
    sale: { amount: 4900, invoiceId: 'inv', metadata: { email: 'a@b.c' } },
  };
  assert.deepEqual(withoutPerson(answer, 'cus_1'), {
    eventName: 'Paid',
    customer: {
      id: 'cus_1',
      name: 'Deleted Customer',
      email: 'deleted@customer.com',
      avatar: null,
      externalId: 'cus_1',
      sales: 2,
    },
    sale: { amount: 4900, invoiceId: 'inv', metadata: null },
  });
  assert.deepEqual(withoutPerson({ customer: null, list: [{ metadata: 1 }], text: 'x' }, 'cus_1'), {
    customer: null,
    list: [{ metadata: null }],
    text: 'x',
  });
});
