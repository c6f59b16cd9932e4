import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import type { Plan } from '../http/operation.ts';
import { AppError } from '../kernel/errors.ts';
import type { RewardEvent } from './program.ts';
import { readTerms, termsSchema, toBasisPoints } from './reward.ts';

const schema = z.object(termsSchema);
const read = (event: RewardEvent, terms: object, plan: Plan = 'enterprise') =>
  readTerms(event, schema.parse(terms), plan, () => 'mod_1');

const flat = { type: 'flat', amountInCents: 500 };
const percent = { type: 'percentage', amountInPercentage: 20 };
const condition = (entity: string, attribute: string, more: object = {}) => ({
  entity,
  attribute,
  operator: 'equals_to',
  value: 'DE',
  ...more,
});
const modified = (event: RewardEvent, conditions: object[], amount: object = { amountInPercentage: 30 }) =>
  read(event, { ...(event === 'sale' ? percent : flat), modifiers: [{ conditions, ...amount }] });

describe('terms of a reward', () => {
  for (const [percentage, points] of [
    [0, 0],
    [20.5, 2050],
    [0.07, 7],
    [99.99, 9999],
    [33.333, undefined],
  ] as const) {
    test(`${percentage} % are ${points ?? 'too fine'}`, () =>
      assert.equal(toBasisPoints(percentage), points));
  }

  test('are kept in cents and hundredths of a percent', () => {
    const sale = read('sale', { ...percent, maxDuration: 12 });
    assert.deepEqual([sale.amountCents, sale.amountBasisPoints, sale.maxDuration], [null, 2000, 12]);
    const lead = read('lead', flat);
    assert.deepEqual([lead.amountCents, lead.amountBasisPoints, lead.maxDuration], [500, null, 0]);
  });

  test('a modifier takes the type of the reward, keeps its own duration and gets an id', () => {
    const reward = modified('sale', [condition('customer', 'country')], {
      amountInPercentage: 30,
      maxDuration: null,
    });
    assert.deepEqual(reward.modifiers, [
      {
        id: 'mod_1',
        operator: 'AND',
        conditions: [condition('customer', 'country')],
        type: 'percentage',
        amountCents: null,
        amountBasisPoints: 3000,
        maxDuration: null,
      },
    ]);
  });

  const refused: [name: string, field: string, code: AppError['code'], () => unknown][] = [
    ['no amount', 'amountInCents', 'unprocessable_entity', () => read('sale', { type: 'flat' })],
    [
      'two amounts',
      'amountInPercentage',
      'unprocessable_entity',
      () => read('sale', { ...flat, amountInPercentage: 5 }),
    ],
    ['a percentage of a click', 'type', 'unprocessable_entity', () => read('click', percent)],
    [
      'months of a lead',
      'maxDuration',
      'unprocessable_entity',
      () => read('lead', { ...flat, maxDuration: 3 }),
    ],
    [
      'a limit without an interval',
      'spendLimitInterval',
      'unprocessable_entity',
      () => read('sale', { ...flat, spendLimitAmount: 100 }),
    ],
    [
      'an interval without a limit',
      'spendLimitAmount',
      'unprocessable_entity',
      () => read('sale', { ...flat, spendLimitInterval: 'day' }),
    ],
    [
      'a limit below enterprise',
      'spendLimitAmount',
      'forbidden',
      () => read('sale', { ...flat, spendLimitAmount: 100, spendLimitInterval: 'day' }, 'advanced'),
    ],
    [
      'modifiers below advanced',
      'modifiers',
      'forbidden',
      () =>
        read(
          'sale',
          {
            ...percent,
            modifiers: [{ conditions: [condition('customer', 'country')], amountInPercentage: 1 }],
          },
          'business',
        ),
    ],
    [
      'a referral below advanced',
      'event',
      'forbidden',
      () => read('referral', { ...flat, config: { trigger: 'partnerApproved' } }, 'business'),
    ],
    ['a referral without a trigger', 'config', 'unprocessable_entity', () => read('referral', flat)],
    [
      'a flat share of sales',
      'type',
      'unprocessable_entity',
      () => read('referral', { ...flat, config: { trigger: 'saleRecorded' } }),
    ],
    [
      'a threshold without a number',
      'config.threshold',
      'unprocessable_entity',
      () => read('referral', { ...flat, config: { trigger: 'commissionThreshold' } }),
    ],
    [
      'a trigger of a sale',
      'config',
      'unprocessable_entity',
      () => read('sale', { ...flat, config: { trigger: 'partnerApproved' } }),
    ],
    [
      'a partner looked at by a click',
      'modifiers[0].conditions[0].entity',
      'unprocessable_entity',
      () => modified('click', [condition('partner', 'country')], { amountInCents: 1 }),
    ],
    [
      'a product of a lead',
      'modifiers[0].conditions[0].attribute',
      'unprocessable_entity',
      () => modified('lead', [condition('lead', 'productId')], { amountInCents: 1 }),
    ],
    [
      'metadata without a name',
      'modifiers[0].conditions[0].metadataField',
      'unprocessable_entity',
      () => modified('sale', [condition('sale', 'metadata')]),
    ],
    [
      'one value where a list is asked for',
      'modifiers[0].conditions[0].value',
      'unprocessable_entity',
      () => modified('sale', [condition('customer', 'country', { operator: 'in' })]),
    ],
    [
      'a word compared as a number',
      'modifiers[0].conditions[0].value',
      'unprocessable_entity',
      () => modified('sale', [condition('sale', 'amount', { operator: 'greater_than' })]),
    ],
    [
      'no date',
      'modifiers[0].conditions[0].value',
      'unprocessable_entity',
      () => modified('sale', [condition('customer', 'signupDate', { operator: 'less_than', value: 'soon' })]),
    ],
    [
      'a percentage for a lead',
      'modifiers[0].type',
      'unprocessable_entity',
      () =>
        modified('lead', [condition('customer', 'country')], { type: 'percentage', amountInPercentage: 1 }),
    ],
  ];
  for (const [name, field, code, work] of refused) {
    test(`${name} is refused and names ${field}`, () => {
      assert.throws(work, (error) => {
        assert.ok(error instanceof AppError);
        assert.deepEqual([error.code, error.message.split(': ')[1]], [code, field]);
        return true;
      });
    });
  }
});
