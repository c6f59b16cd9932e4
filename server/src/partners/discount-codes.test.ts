import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { openProgram, type ProgramCalls } from '../testing/program-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';
import { codeFor, longerCode } from './discount-code.ts';

describe('a code that is made up', () => {
  const percent = { type: 'percentage', amount: 2_000 } as const;
  const cases: [string | null, Parameters<typeof codeFor>[1], string][] = [
    ['Mia Lund', percent, 'MIA20OFF'],
    ['  Åsa-Lena Berg', percent, 'ASALENA20OFF'],
    ['李雷', percent, 'PARTNER20OFF'],
    [null, { type: 'percentage', amount: 1_250 }, 'PARTNER13OFF'],
    ['mia', { type: 'flat', amount: 500 }, 'MIA5OFF'],
    ['mia', { type: 'flat', amount: 0 }, 'MIAOFF'],
  ];
  for (const [name, discount, code] of cases) {
    test(`for ${name} with ${discount.amount} ${discount.type} is ${code}`, () => {
      assert.equal(codeFor(name, discount), code);
    });
  }

  test('gets two more characters when it is taken', () => {
    assert.match(longerCode('MIA20OFF'), /^MIA20OFF[0-9A-Z]{2}$/);
  });
});

eachDatabase('discount codes', (databases) => {
  let t: TestApp;
  let p: ProgramCalls;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  const fresh = async (discount: object | null = {}) => {
    p = await openProgram(t);
    if (!discount) return undefined;
    return p.post('/discounts', { type: 'percentage', amount: 20, maxDuration: 3, ...discount });
  };
  const codesOf = (partnerId: string) => p.get(`/discount-codes?partnerId=${partnerId}`);

  test('are made for a link of a partner, told, listed and deleted by id or by name', async () => {
    const discount = await fresh();
    const mia = await p.partner({ name: 'Mia Lund' });
    const linkId = mia.links[0].id;
    await p.newEvents();
    const made = await p.post('/discount-codes', { partnerId: mia.id, linkId });
    assert.match(made.id, /^dcode_/);
    assert.deepEqual(made, {
      id: made.id,
      code: 'MIA20OFF',
      discountId: discount.id,
      partnerId: mia.id,
      linkId,
      disabledAt: null,
    });
    const [told] = await p.newEvents();
    assert.equal(told?.type, 'discount_code.created');
    assert.deepEqual(told?.webhook, {
      id: made.id,
      code: 'MIA20OFF',
      partnerId: mia.id,
      linkId,
      disabledAt: null,
      discount: { id: discount.id, amount: 20, type: 'percentage', maxDuration: 3, provider: 'custom' },
    });
    assert.deepEqual(await p.get('/discount-codes'), [made]);
    assert.deepEqual(await p.get(`/discount-codes?discountId=${discount.id}`), [made]);
    assert.deepEqual((await p.call('DELETE', '/discount-codes/mia20off')).json, { id: made.id });
    assert.deepEqual(
      (await p.newEvents()).map(({ type }) => type),
      ['discount_code.deleted'],
    );
    assert.deepEqual(await p.get('/discount-codes'), []);
    await p.refused(404, undefined, 'DELETE', `/discount-codes/${made.id}`);
    const again = await p.post('/discount-codes', { partnerId: mia.id, linkId, code: ' Mia-2027_x ' });
    assert.equal(again.code, 'Mia-2027_x');
    assert.equal((await p.call('DELETE', `/discount-codes/${again.id}`)).status, 200);
  });

  test('are refused by name where they do not fit', async () => {
    await fresh(null);
    const [mia, bo] = [await p.partner({ name: 'Mia' }), await p.partner({ name: 'Bo' })];
    const own = { partnerId: mia.id, linkId: mia.links[0].id };
    await p.refused(400, 'partnerId', 'POST', '/discount-codes', own);
    await p.post('/discounts', { type: 'flat', amount: 500 });
    await p.refused(404, undefined, 'POST', '/discount-codes', { ...own, partnerId: 'pn_unknown' });
    await p.refused(400, 'linkId', 'POST', '/discount-codes', { ...own, linkId: bo.links[0].id });
    await p.refused(400, 'linkId', 'POST', '/discount-codes', { ...own, linkId: 'link_unknown' });
    await p.refused(422, 'code', 'POST', '/discount-codes', { ...own, code: 'with space' });
    await p.refused(422, 'code', 'POST', '/discount-codes', { ...own, code: 'x'.repeat(101) });
    await p.post('/discount-codes', { ...own, code: 'Taken' });
    await p.refused(400, 'linkId', 'POST', '/discount-codes', own);
    const bos = { partnerId: bo.id, linkId: bo.links[0].id };
    await p.refused(409, 'code', 'POST', '/discount-codes', { ...bos, code: 'TAKEN' });
    await p.refused(404, undefined, 'GET', '/discount-codes?discountId=disc_unknown');
    await p.refused(404, undefined, 'GET', '/discount-codes?partnerId=pn_unknown');
    assert.equal((await p.post('/discount-codes', { ...bos, code: '' })).code, 'BO5OFF');
  });

  test('come by themselves where the discount says so, each another one', async () => {
    await fresh({ autoProvision: true });
    const partners = [];
    for (let i = 0; i < 3; i++) partners.push(await p.partner({ name: 'Mia Lund' }));
    const codes: string[] = [];
    for (const { id, links } of partners) {
      const [code] = await codesOf(id);
      assert.equal(code.linkId, links[0].id);
      codes.push(code.code);
    }
    assert.equal(codes[0], 'MIA20OFF');
    assert.match(codes[1] as string, /^MIA20OFF..$/);
    assert.equal(new Set(codes).size, 3);
  });

  test('are worth nothing while their partner is banned or deactivated, and stay reserved', async () => {
    const discount = await fresh({ autoProvision: true });
    const { discountCodes } = t.app.services;
    const mia = await p.partner({ name: 'Mia' });
    const find = () => discountCodes.findLinkByCode(p.program.id, 'mia20off');
    assert.deepEqual(await find(), { linkId: mia.links[0].id, partnerId: mia.id });

    await p.post('/partners/deactivate', { partnerId: mia.id });
    let [code] = await codesOf(mia.id);
    assert.deepEqual([code.discountId, code.disabledAt !== null], [discount.id, true]);
    assert.equal(await find(), undefined);
    await p.post('/partners/reactivate', { partnerId: mia.id });
    assert.equal((await find())?.partnerId, mia.id);

    await p.post('/partners/ban', { partnerId: mia.id, reason: 'spam' });
    [code] = await codesOf(mia.id);
    assert.deepEqual([code.discountId, code.disabledAt !== null], [null, true]);
    await p.refused(404, undefined, 'DELETE', `/discount-codes/${code.id}`);
    const other = await p.partner();
    const body = { partnerId: other.id, linkId: other.links[0].id, code: 'MIA20OFF' };
    await p.call('DELETE', `/discount-codes/${(await codesOf(other.id))[0].id}`);
    await p.refused(409, 'code', 'POST', '/discount-codes', body);
    await p.post('/partners/unban', { partnerId: mia.id });
    [code] = await codesOf(mia.id);
    assert.deepEqual([code.discountId, code.disabledAt], [discount.id, null]);
  });

  test('follow their partner into another group, and go with their link', async () => {
    await fresh({ autoProvision: true });
    const mia = await p.partner({ name: 'Mia' });
    const group = await p.post('/groups', { name: 'VIP', slug: 'vip' });
    await p.patch(`/partners/${mia.id}`, { groupId: 'vip' });
    assert.equal((await codesOf(mia.id))[0].discountId, null);
    const better = await p.post('/discounts', { groupId: group.id, type: 'percentage', amount: 50 });
    const linkId = mia.links[0].id;
    const [kept] = await codesOf(mia.id);
    assert.deepEqual([kept.code, kept.discountId, kept.disabledAt], ['MIA20OFF', better.id, null]);
    await p.call('DELETE', '/discount-codes/MIA20OFF');
    const made = await p.post('/discount-codes', { partnerId: mia.id, linkId });
    assert.deepEqual([made.code, made.discountId], ['MIA50OFF', better.id]);
    assert.deepEqual(await codesOf(mia.id), [made]);
    assert.equal((await p.call('DELETE', `/discounts/${better.id}`)).status, 200);
    const [left] = await codesOf(mia.id);
    assert.deepEqual([left.discountId, left.disabledAt !== null], [null, true]);
    assert.equal((await p.call('DELETE', `/links/${linkId}`)).status, 200);
    assert.deepEqual(await codesOf(mia.id), []);
  });

  test('receivers hear of a code that goes with its link, whichever way the link goes', async () => {
    const discount = await fresh({ autoProvision: true });
    const gone: string[] = [];
    const told = async () => {
      const events = (await p.newEvents()).filter(({ type }) => type === 'discount_code.deleted');
      return events.map(({ webhook }) => [webhook.code, webhook.discount.id]);
    };
    const partnerWithCode = async () => {
      const partner = await p.partner({ name: 'Mia' });
      gone.push((await codesOf(partner.id))[0].code);
      await p.newEvents();
      return partner;
    };
    const one = await partnerWithCode();
    await p.call('DELETE', `/links/${one.links[0].id}`);
    assert.deepEqual(await told(), [[gone[0], discount.id]]);
    const two = await partnerWithCode();
    await p.call('DELETE', `/links/bulk?linkIds=${two.links[0].id}`);
    assert.deepEqual(await told(), [[gone[1], discount.id]]);
    const three = await partnerWithCode();
    await p.post('/partners/deactivate', { partnerId: three.id });
    await p.call('DELETE', `/partners/${three.id}`);
    assert.deepEqual(await told(), [[gone[2], discount.id]]);
    assert.deepEqual(await p.get('/discount-codes'), []);
  });

  test('come to the partners that are there when the group gets a discount that provides them', async () => {
    await fresh(null);
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.push((await p.partner({ name: 'Mia' })).id);
    await p.post('/partners/ban', { partnerId: ids[2], reason: 'spam' });
    const discount = await p.post('/discounts', { type: 'percentage', amount: 20, autoProvision: true });
    const has = async () => Promise.all(ids.map(async (id) => (await codesOf(id)).length));
    assert.deepEqual(await has(), [1, 1, 0]);
    await p.post('/partners/unban', { partnerId: ids[2] });
    assert.deepEqual(await has(), [1, 1, 1]);
    // Codes of a discount that was removed are worth the next one.
    assert.equal((await p.call('DELETE', `/discounts/${discount.id}`)).status, 200);
    assert.equal((await codesOf(ids[0] as string))[0].discountId, null);
    const next = await p.post('/discounts', { type: 'percentage', amount: 30 });
    const [code] = await codesOf(ids[0] as string);
    assert.deepEqual([code.discountId, code.disabledAt], [next.id, null]);
  });

  test('come to more partners than one step takes by a job, once the discount is told to provide them', async () => {
    const discount = await fresh();
    const count = 110;
    for (let i = 0; i < count; i++) await p.partner();
    const total = async () => {
      const pages = [await p.get('/discount-codes'), await p.get('/discount-codes?page=2')];
      return pages.flat().length;
    };
    const since = await p.patch(`/discounts/${discount.id}`, { autoProvision: true });
    assert.equal(await total(), 100);
    const job = t.app.services.discountCodes.provide;
    await job(AbortSignal.abort());
    assert.equal(await total(), 100);
    await job(new AbortController().signal);
    assert.equal(await total(), count);
    t.clock.advance(1_000);
    const again = await p.patch(`/discounts/${discount.id}`, { autoProvision: true });
    assert.equal(again.autoProvisionEnabledAt, since.autoProvisionEnabledAt);
    assert.equal(await total(), count);
  });

  test('ten requests at once give a link one code', async () => {
    await fresh();
    const mia = await p.partner();
    const body = { partnerId: mia.id, linkId: mia.links[0].id };
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => p.call('POST', '/discount-codes', body)),
    );
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, ...Array(9).fill(400)]);
    assert.equal((await codesOf(mia.id)).length, 1);
  });
});
