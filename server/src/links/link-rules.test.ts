import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LinkDomain } from '../domains/domain.ts';
import { type Actor, PLANS, type Plan } from '../http/operation.ts';
import { AppError } from '../kernel/errors.ts';
import { EMPTY_FIELDS, type Link } from './link.ts';
import type { LinkDraft } from './link-draft.ts';
import { attempt, type Item, newItem } from './link-item.ts';
import { applyOwnRules, applySharedRules, type Found, type Lookups } from './link-rules.ts';

const OWN: LinkDomain = { slug: 'go.acme.example', shared: false, caseSensitive: false };
const SHARED: LinkDomain = { slug: 'localhost:3000', shared: true, caseSensitive: false };
const TAGS = ['a', 'b'].map((id) => ({ id, name: id.toUpperCase(), color: 'red' as const }));
const VARIANTS = [
  { url: 'https://a.example', percentage: 50 },
  { url: 'https://b.example', percentage: 50 },
];

/** A world with two domains, two tags and nothing else. */
const LOOK: Lookups = {
  nowMs: Date.UTC(2027, 0, 15, 10),
  domain: async (slug) => (slug === OWN.slug ? OWN : SHARED),
  assertFolder: async () => {},
  assertCurrentFolder: async () => {},
  resolveProgram: async () => ({ programId: 'prog_1', partnerId: null, folderId: null }),
  assertWebhooks: async () => {},
};

const found = (): Found => ({
  tagsById: new Map(TAGS.map((tag) => [tag.id, tag])),
  tagsByName: new Map(TAGS.map((tag) => [tag.name.toLowerCase(), tag])),
  keys: new Set(['go.acme.example/taken']),
  externalIds: new Set(['taken']),
});

const actor = (plan: Plan): Actor => ({
  tokenId: 't',
  userId: 'u',
  role: 'owner',
  permissions: new Set(),
  workspaceId: 'ws',
  plan,
  limits: {},
});

async function run(
  items: readonly Item[],
  plan: Plan = 'enterprise',
  look: Lookups = LOOK,
): Promise<readonly Item[]> {
  const shared = found();
  await attempt(items, (item) => applyOwnRules(item, actor(plan), look));
  await attempt(items, (item) => applySharedRules(item, look, shared));
  return items;
}

const one = async (draft: LinkDraft, existing?: Link, plan?: Plan) =>
  (await run([newItem(draft, existing)], plan))[0] as Item;
const codeOf = (item: Item) => item.error?.code ?? 'accepted';

const linkWith = (fields: Partial<Link>): Link => ({
  ...EMPTY_FIELDS,
  id: 'link_1',
  workspaceId: 'ws',
  userId: 'u',
  domain: OWN.slug,
  key: 'Here',
  url: 'https://old.example/',
  disabledAt: null,
  bannedAt: null,
  clicks: 0,
  leads: 0,
  conversions: 0,
  sales: 0,
  saleAmount: 0,
  lastClickedAt: null,
  createdAt: 1,
  updatedAt: 1,
  tags: [],
  webhookIds: [],
  ...fields,
});

describe('plan gates', () => {
  const gates: [minimum: Plan, draft: LinkDraft][] = [
    ['pro', { proxy: true }],
    ['pro', { password: 'x' }],
    ['pro', { rewrite: true }],
    ['pro', { expiresAt: '2031-01-01' }],
    ['pro', { ios: 'https://a.example' }],
    ['pro', { android: 'https://a.example' }],
    ['pro', { geo: { DE: 'https://a.example' } }],
    ['pro', { doIndex: true }],
    ['pro', { folderId: 'fold_1' }],
    ['business', { trackConversion: true }],
    ['business', { trackConversion: true, testVariants: VARIANTS }],
    ['business', { webhookIds: ['wh_1'] }],
    ['free', { archived: true, publicStats: true, comments: 'c', title: 't', description: 'd', video: 'v' }],
    [
      'free',
      { externalId: 'e', tenantId: 't', tagIds: ['a'], expiredUrl: 'https://a.example', utm_source: 's' },
    ],
    [
      'free',
      {
        proxy: false,
        password: null,
        expiresAt: null,
        geo: null,
        webhookIds: [],
        trackConversion: false,
        testVariants: null,
      },
    ],
  ];
  for (const [minimum, draft] of gates) {
    test(`${Object.keys(draft).join(', ').slice(0, 60)} from the plan ${minimum} on`, async () => {
      for (const plan of PLANS) {
        const expected = PLANS.indexOf(plan) >= PLANS.indexOf(minimum) ? 'accepted' : 'forbidden';
        assert.equal(
          codeOf(
            await one({ url: 'https://x.example', domain: OWN.slug, key: 'k', ...draft }, undefined, plan),
          ),
          expected,
          plan,
        );
      }
    });
  }

  test('a destination of a root link needs the plan pro, everything else of it does not', async () => {
    const root = linkWith({ key: '_root', url: '' });
    assert.equal(codeOf(await one({ url: 'https://x.example' }, root, 'free')), 'forbidden');
    assert.equal(codeOf(await one({ url: 'https://x.example' }, root, 'pro')), 'accepted');
    assert.equal(codeOf(await one({ url: '', title: 'T' }, root, 'free')), 'accepted');
  });
});

describe('a change', () => {
  test('starts from what the link is, and touches only what is given', async () => {
    const link = linkWith({ title: 'T', comments: 'C', geo: { DE: 'https://de.example' } });
    const { fields } = await one({ comments: null }, link);
    const {
      id: _,
      workspaceId: _w,
      userId: _u,
      disabledAt: _d,
      bannedAt: _b,
      clicks: _c,
      leads: _l,
      conversions: _v,
      sales: _s,
      saleAmount: _a,
      lastClickedAt: _lc,
      createdAt: _cr,
      updatedAt: _up,
      tags: _t,
      webhookIds: _wh,
      ...before
    } = link;
    assert.deepEqual(fields, { ...before, comments: null });
  });

  for (const [what, link, draft, url] of [
    [
      'a new destination keeps the campaign',
      { utm_source: 's' },
      { url: 'https://n.example' },
      'https://n.example/?utm_source=s',
    ],
    ['its own campaign is stripped', {}, { url: 'https://n.example/?utm_source=x' }, 'https://n.example/'],
    [
      'and kept when it is sent as well',
      {},
      { url: 'https://n.example/?utm_source=x', utm_source: 'x' },
      'https://n.example/?utm_source=x',
    ],
    ['ref is not remembered', {}, { url: 'https://n.example/?ref=x' }, 'https://n.example/?ref=x'],
    ['a destination without campaign stays as typed', {}, { url: 'https://n.example' }, 'https://n.example'],
    ['without both it is left alone', { utm_source: 's' }, { title: 'x' }, 'https://old.example/'],
  ] as [string, Partial<Link>, LinkDraft, string][]) {
    test(`of the destination: ${what}`, async () => {
      assert.equal((await one(draft, linkWith(link))).fields.url, url);
    });
  }

  test('of the key is checked and looked up, unless it is the same key', async () => {
    assert.equal(codeOf(await one({ key: 'TAKEN' }, linkWith({}))), 'conflict');
    assert.equal(codeOf(await one({ key: 'tAKEN' }, linkWith({ key: 'Taken' }))), 'accepted');
    assert.equal((await one({ key: 'HERE' }, linkWith({}))).fields.key, 'HERE');
    assert.equal(codeOf(await one({ key: 'robots.txt' }, linkWith({ key: 'Robots.txt' }))), 'accepted');
    assert.equal((await one({ key: '' }, linkWith({}))).random, true);
    assert.equal((await one({}, linkWith({}))).random, false);
  });

  test('to another domain checks the key there', async () => {
    assert.equal(codeOf(await one({ domain: SHARED.slug }, linkWith({ key: 'login' }))), 'conflict');
    assert.equal((await one({ domain: SHARED.slug }, linkWith({}))).fields.domain, SHARED.slug);
  });
});

describe('many at once', () => {
  test('the later of two that want the same key or external id fails', async () => {
    const draft = (more: LinkDraft) => newItem({ url: 'https://x.example', domain: OWN.slug, ...more });
    const items = [
      draft({ key: 'Same' }),
      draft({ key: 'sAME' }),
      draft({ key: 'x', externalId: 'e' }),
      draft({ key: 'y', externalId: 'ext_e' }),
    ];
    assert.deepEqual((await run(items)).map(codeOf), ['accepted', 'conflict', 'accepted', 'conflict']);
  });

  test('an item that has failed takes nothing from the others', async () => {
    const broken = newItem({ url: 'nope', domain: OWN.slug, key: 'k' });
    const unread = newItem(new AppError('bad_request', 'no object'));
    const fine = newItem({ url: 'https://x.example', domain: OWN.slug, key: 'k' });
    assert.deepEqual((await run([broken, unread, fine])).map(codeOf), [
      'unprocessable_entity',
      'bad_request',
      'accepted',
    ]);
  });

  test('a failure that is not the caller’s stops the whole', async () => {
    const look = { ...LOOK, domain: () => Promise.reject(new Error('no database')) };
    await assert.rejects(run([newItem({ url: 'https://x.example' })], 'pro', look), /no database/);
  });

  test('tags by id and by name add up only where that is asked for', async () => {
    const draft: LinkDraft = { url: 'https://x.example', tagIds: ['b'], tagNames: ['a', 'B'] };
    const [adding, choosing] = await run([newItem(draft, undefined, true), newItem(draft)]);
    assert.deepEqual(
      adding?.tags?.map((tag) => tag.id),
      ['b', 'a'],
    );
    assert.deepEqual(
      choosing?.tags?.map((tag) => tag.id),
      ['b'],
    );
  });
});
