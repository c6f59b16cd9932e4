import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CONDITION_OPERATORS, type Reward, type RewardCondition, type RewardModifier } from './reward.ts';
import {
  clampToLimit,
  earningsOf,
  floorShare,
  isWithinDuration,
  monthsBetween,
  type RewardFacts,
  shareOf,
  spendWindow,
} from './reward-engine.ts';

const REWARD: Reward = {
  id: 'rw_1',
  programId: 'prog_1',
  workspaceId: 'ws_1',
  event: 'sale',
  type: 'percentage',
  amountCents: null,
  amountBasisPoints: 2_000,
  maxDuration: 12,
  description: null,
  modifiers: null,
  spendLimitAmount: null,
  spendLimitInterval: null,
  config: null,
  createdAt: 0,
  updatedAt: 0,
};

const FACTS: RewardFacts = {
  customer: { country: 'DE', signupDate: '2026-03-01T00:00:00.000Z', subscriptionDurationMonths: 7 },
  partner: { country: 'FR', totalSaleAmount: 50_000 },
  sale: {
    productId: 'prod_pro',
    amount: 4_900,
    type: 'new',
    metadata: { plan: 'team', seats: 5, nested: {}, code: '007', title: 'plan 9' },
  },
};

function modifier(conditions: RewardCondition[], rest: Partial<RewardModifier> = {}): RewardModifier {
  return {
    id: 'm',
    operator: 'AND',
    conditions,
    type: 'percentage',
    amountCents: null,
    amountBasisPoints: 3_000,
    ...rest,
  };
}

describe('conditions', () => {
  const cases: [
    name: string,
    condition: Omit<RewardCondition, 'operator'>,
    holdsFor: RewardCondition['operator'][],
  ][] = [
    [
      'the same text',
      { entity: 'customer', attribute: 'country', value: 'DE' },
      ['equals_to', 'starts_with', 'ends_with', 'contains'],
    ],
    [
      'another text',
      { entity: 'customer', attribute: 'country', value: 'D' },
      ['not_equals', 'starts_with', 'contains'],
    ],
    [
      'a list with it',
      { entity: 'customer', attribute: 'country', value: ['FR', 'DE'] },
      ['in', 'not_equals', 'not_contains'],
    ],
    [
      'a smaller number',
      { entity: 'sale', attribute: 'amount', value: 4_899 },
      ['not_equals', 'not_contains', 'greater_than', 'greater_than_or_equal'],
    ],
    [
      'the same number as text',
      { entity: 'sale', attribute: 'amount', value: '4900.0' },
      ['equals_to', 'not_contains', 'greater_than_or_equal', 'less_than_or_equal'],
    ],
    [
      'a later date',
      { entity: 'customer', attribute: 'signupDate', value: '2026-04-01' },
      ['not_equals', 'not_contains', 'less_than', 'less_than_or_equal'],
    ],
    [
      'metadata',
      { entity: 'sale', attribute: 'metadata', metadataField: 'seats', value: 4 },
      ['not_equals', 'not_contains', 'greater_than', 'greater_than_or_equal'],
    ],
    [
      'metadata that is not there',
      { entity: 'sale', attribute: 'metadata', metadataField: 'none', value: 4 },
      [],
    ],
    [
      'metadata that is no plain value',
      { entity: 'sale', attribute: 'metadata', metadataField: 'nested', value: 4 },
      [],
    ],
    [
      'metadata named like what every object has',
      { entity: 'sale', attribute: 'metadata', metadataField: 'constructor', value: 4 },
      [],
    ],
    [
      'text that looks like the same number',
      { entity: 'sale', attribute: 'metadata', metadataField: 'code', value: '7' },
      ['not_equals', 'ends_with', 'contains', 'greater_than_or_equal', 'less_than_or_equal'],
    ],
    [
      'text that is no number, compared with one',
      { entity: 'sale', attribute: 'metadata', metadataField: 'title', value: 8 },
      ['not_equals', 'not_contains'],
    ],
    ['what nobody knows', { entity: 'customer', attribute: 'source', value: 'trial' }, []],
  ];
  for (const [name, condition, expected] of cases) {
    test(`${name}: ${expected.join(', ') || 'nothing holds'}`, () => {
      const listed = Array.isArray(condition.value)
        ? []
        : expected.includes('equals_to')
          ? ['in']
          : ['not_in'];
      const found = CONDITION_OPERATORS.filter(
        (operator) =>
          shareOf({ ...REWARD, modifiers: [modifier([{ ...condition, operator }])] }, FACTS)
            ?.amountBasisPoints === 3_000,
      );
      const wanted = expected.length === 0 ? [] : [...new Set([...expected, ...listed])];
      assert.deepEqual([...found].sort(), wanted.sort());
    });
  }
});

describe('modifiers', () => {
  const german: RewardCondition = {
    entity: 'customer',
    attribute: 'country',
    operator: 'equals_to',
    value: 'DE',
  };
  const french: RewardCondition = { ...german, value: 'FR' };

  test('all conditions must hold, or with OR one of them', () => {
    const share = (operator: 'AND' | 'OR') =>
      shareOf({ ...REWARD, modifiers: [modifier([german, french], { operator })] }, FACTS)?.amountBasisPoints;
    assert.deepEqual([share('AND'), share('OR')], [2_000, 3_000]);
  });

  test('of those that apply the largest number counts, cents and percent alike', () => {
    const flat = modifier([german], { type: 'flat', amountCents: 31, amountBasisPoints: null });
    const share = shareOf({ ...REWARD, modifiers: [modifier([german]), flat] }, FACTS);
    assert.deepEqual([share?.type, share?.amountCents, share?.amountBasisPoints], ['flat', 31, null]);
  });

  test('how long it lasts is its own where it says so', () => {
    const durations = [undefined, null, 3].map(
      (maxDuration) =>
        shareOf({ ...REWARD, modifiers: [modifier([german], { maxDuration })] }, FACTS)?.maxDuration,
    );
    assert.deepEqual(durations, [12, null, 3]);
  });

  test('an amount of nothing is no reward', () => {
    assert.equal(shareOf({ ...REWARD, amountBasisPoints: 0 }, FACTS), undefined);
    const none = modifier([german], { amountBasisPoints: 0 });
    assert.equal(shareOf({ ...REWARD, modifiers: [none] }, FACTS), undefined);
  });
});

describe('earnings', () => {
  const share = (fields: object) => ({
    ...(shareOf(REWARD, {}) as NonNullable<ReturnType<typeof shareOf>>),
    ...fields,
  });

  test('a flat amount counts once per piece', () => {
    const flat = share({ type: 'flat', amountCents: 250, amountBasisPoints: null });
    assert.equal(earningsOf(flat, { amount: 99_999, quantity: 3 }), 750);
  });

  test('a percentage of the amount is rounded to the nearest cent, half a cent up', () => {
    const cases = [
      [4_900, 2_000, 980],
      [1, 5_000, 1],
      [1, 4_999, 0],
      [333, 1_050, 35],
      [9_007_199_254_740_991, 10_000, 9_007_199_254_740_991],
    ] as const;
    for (const [amount, amountBasisPoints, cents] of cases)
      assert.equal(earningsOf(share({ amountBasisPoints }), { amount }), cents);
  });

  test('referrals give whole cents and never more', () => {
    assert.deepEqual([floorShare(199, 5_000), floorShare(200, 5_000)], [99, 100]);
  });

  test('a spend limit leaves what is not spent yet', () => {
    assert.deepEqual(
      [
        clampToLimit(500, null, 9_999),
        clampToLimit(500, 1_000, 200),
        clampToLimit(500, 1_000, 700),
        clampToLimit(500, 1_000, 1_200),
      ],
      [500, 500, 300, 0],
    );
  });
});

describe('time', () => {
  const ms = (text: string) => Date.parse(text);

  test('months are whole ones', () => {
    const cases = [
      ['2026-01-15T10:00:00Z', '2026-02-15T09:59:59Z', 0],
      ['2026-01-15T10:00:00Z', '2026-02-15T10:00:00Z', 1],
      ['2026-01-31T00:00:00Z', '2026-02-28T23:00:00Z', 0],
      ['2025-12-31T00:00:00Z', '2026-12-31T00:00:00Z', 12],
      ['2024-02-29T00:00:00Z', '2025-02-28T00:00:00Z', 11],
    ] as const;
    for (const [from, to, months] of cases)
      assert.equal(monthsBetween(ms(from), ms(to)), months, `${from} ${to}`);
  });

  test('a sale is rewarded the first time, for so many months, or for ever', () => {
    const first = ms('2026-01-15T10:00:00Z');
    const later = ms('2026-04-15T10:00:00Z');
    assert.deepEqual(
      [
        isWithinDuration(0, undefined, later),
        isWithinDuration(0, first, later),
        isWithinDuration(3, first, later),
        isWithinDuration(4, first, later),
        isWithinDuration(null, first, later),
      ],
      [true, false, false, true, true],
    );
  });

  test('windows of spend limits are the day, the week from Sunday, the month, and end with them', () => {
    const day = (at: number) => new Date(at).toISOString().slice(0, 10);
    const windows = (text: string) =>
      (['day', 'week', 'month'] as const).map((name) => {
        const { fromMs, beforeMs } = spendWindow(name, ms(text));
        return [day(fromMs), day(beforeMs)];
      });
    assert.deepEqual(windows('2026-11-18T15:00:00Z'), [
      ['2026-11-18', '2026-11-19'],
      ['2026-11-15', '2026-11-22'],
      ['2026-11-01', '2026-12-01'],
    ]);
    assert.deepEqual(windows('2026-12-31T23:59:59.999Z'), [
      ['2026-12-31', '2027-01-01'],
      ['2026-12-27', '2027-01-03'],
      ['2026-12-01', '2027-01-01'],
    ]);
    const { fromMs, beforeMs } = spendWindow('allTime', ms('2026-11-18T15:00:00Z'));
    assert.ok(fromMs === 0 && beforeMs > ms('2100-01-01T00:00:00Z'));
  });
});
