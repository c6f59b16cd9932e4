// What every event store guarantees; each engine's test file calls it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClickIds } from '../events/click-id.ts';
import { manualClock } from '../kernel/clock.ts';
import { clickRecord, leadRecord, linkRow, saleRecord } from '../testing/click-records.ts';
import type { ClickRecord } from './click-record.ts';
import type { LinkRow } from './link-row.ts';
import type { PartnerRow } from './partner-row.ts';
import type { EventCounts, EventStore } from './store.ts';

export interface StorePlace {
  /** Opens the same store again and again. */
  open(): Promise<EventStore>;
}

const counts = (some: Partial<EventCounts>): EventCounts => ({
  clicks: 0,
  distinctClicks: 0,
  links: 0,
  leads: 0,
  sales: 0,
  ...some,
});

const PARTNER: PartnerRow = {
  workspaceId: 'ws_1',
  partnerId: 'pn_1',
  programId: 'prog_1',
  groupId: '',
  tagIds: [],
  deleted: false,
  changeId: 1,
};

export function eventStoreContract(newPlace: () => Promise<StorePlace>): void {
  const at = (offset: number) => ({ segment: 1, offset });

  test('a new store has nothing, and then what was stored, also after it was opened again', async () => {
    const place = await newPlace();
    const store = await place.open();
    assert.equal(await store.committed(), undefined);
    assert.deepEqual(await store.count(), counts({}));
    await store.append({ clicks: [clickRecord(1), clickRecord(2)], links: [linkRow('link_1')] }, at(100));
    await store.close();
    const again = await place.open();
    assert.deepEqual(await again.committed(), at(100));
    assert.deepEqual(await again.count(), counts({ clicks: 2, distinctClicks: 2, links: 1 }));
    await again.close();
  });

  test('a batch that is stored already changes nothing', async () => {
    const store = await (await newPlace()).open();
    const batch = { clicks: [clickRecord(1)], links: [] };
    await store.append(batch, at(100));
    await store.append(batch, at(100));
    await store.append({ clicks: [clickRecord(2)], links: [] }, at(90));
    assert.deepEqual(await store.count(), counts({ clicks: 1, distinctClicks: 1 }));
    assert.deepEqual(await store.committed(), at(100));
    await store.close();
  });

  test('an empty batch still moves the position', async () => {
    const store = await (await newPlace()).open();
    await store.append({ clicks: [], links: [] }, at(100));
    assert.deepEqual(await store.committed(), at(100));
    await store.close();
  });

  test('a click comes back as it was stored, whatever its texts hold', async () => {
    const store = await (await newPlace()).open();
    const awkward = clickRecord(2, {
      id: 'o\'click\\"',
      url: 'https://example.com/ü?q=日本&x=,;|\t\n\r"',
      userAgent: "'; drop table click; --",
      referer: '',
      city: '🏙️',
      qr: false,
    });
    const clicks = [clickRecord(1), awkward, clickRecord(3)];
    await store.append({ clicks, links: [] }, at(100));
    for (const click of clicks) assert.deepEqual(await store.findClick(click.id), click);
    assert.equal(await store.findClick('unknown'), undefined);
    await store.close();
  });

  test('a separator of the store in a text is stored as a space and moves no other field', async () => {
    const store = await (await newPlace()).open();
    await store.append({ clicks: [clickRecord(1, { city: 'a\u001eb\u001fc\u001dd' })], links: [] }, at(100));
    assert.deepEqual(await store.findClick(clickRecord(1).id), clickRecord(1, { city: 'a b c d' }));
    await store.close();
  });

  test('a click with an id of our own is found by it, also when the clock was set back after it', async () => {
    const store = await (await newPlace()).open();
    const clock = manualClock(Date.UTC(2027, 0, 15));
    const ids = createClickIds(clock);
    const first = clickRecord(1, { id: ids(), timeMs: clock.now() });
    clock.advance(-60_000);
    const second = clickRecord(2, { id: ids(), timeMs: clock.now() });
    await store.append({ clicks: [first, second], links: [] }, at(100));
    assert.deepEqual(await store.findClick(first.id), first);
    assert.deepEqual(await store.findClick(second.id), second);
    await store.close();
  });

  test('the latest change of a link counts, and an earlier one that comes again does not', async () => {
    const store = await (await newPlace()).open();
    const put = async (offset: number, links: LinkRow[]) => {
      await store.append({ clicks: [], links }, at(offset));
      return (await store.count()).links;
    };
    assert.equal(await put(100, [linkRow('a', { changeId: 5, tagIds: ['t1', 't2'] }), linkRow('b')]), 2);
    assert.equal(await put(200, [linkRow('a', { changeId: 4, deleted: true })]), 2);
    assert.equal(await put(300, [linkRow('a', { changeId: 6, deleted: true })]), 1);
    assert.equal(await put(400, [linkRow('a', { changeId: 5 })]), 1);
    await store.close();
  });

  test('clicks of another instance are taken in once, whoever brought them and however often they come', async () => {
    const store = await (await newPlace()).open();
    await store.append({ clicks: [clickRecord(1)], links: [] }, at(100));
    const importedClicks = [clickRecord(1, { city: 'Elsewhere' }), clickRecord(2), clickRecord(3)];
    await store.append({ clicks: [clickRecord(4)], importedClicks, links: [] }, at(200));
    await store.append({ clicks: [], importedClicks, links: [] }, at(300));
    assert.deepEqual(await store.count(), counts({ clicks: 4, distinctClicks: 4 }));
    assert.deepEqual(await store.findClick(clickRecord(1).id), clickRecord(1));
    assert.deepEqual(await store.findClick(clickRecord(3).id), clickRecord(3));
    await store.close();
  });

  test('all clicks come page by page in order of time, across gaps and within one moment', async () => {
    const store = await (await newPlace()).open();
    const times = [0, 1, 1, 1, 1, 2, 60_000, 90_000_000, 90_000_001, 40_000_000_000];
    const clicks = times.map((ms, i) =>
      clickRecord(i, {
        id: `click-${99 - i}`,
        timeMs: Date.UTC(2024, 0) + ms,
        workspaceId: i % 3 === 0 ? 'ws_2' : 'ws_1',
      }),
    );
    await store.append({ clicks: clicks.toReversed(), links: [] }, at(100));
    const expected = clicks.toSorted((a, b) => a.timeMs - b.timeMs || (a.id < b.id ? -1 : 1));
    for (const workspaceId of [undefined, 'ws_1', 'ws_none']) {
      const own = expected.filter((click) => workspaceId === undefined || click.workspaceId === workspaceId);
      assert.equal(await store.countClicks(workspaceId), own.length);
      for (const limit of [1, 2, 3, 100]) {
        const found: ClickRecord[] = [];
        let page = await store.listClicks({ workspaceId, limit });
        for (; page.next; page = await store.listClicks({ workspaceId, limit, after: page.next })) {
          assert.equal(page.clicks.length, limit);
          found.push(...page.clicks);
        }
        assert.deepEqual([...found, ...page.clicks], own, `${workspaceId} by ${limit}`);
      }
    }
    await store.close();
  });

  const everything = { workspaceId: 'ws_1', fromMs: 0, toMs: Date.UTC(2100, 0), limit: 100, offset: 0 };
  const listLeads = (store: EventStore) => store.list({ ...everything, kind: 'leads', order: 'asc' });
  const listSales = (store: EventStore) => store.list({ ...everything, kind: 'sales', order: 'asc' });

  test('leads and sales come back as they were stored, with their click', async () => {
    const store = await (await newPlace()).open();
    const awkward = leadRecord('l2', {
      metadata: JSON.stringify({
        "o'key\\": 'ü"\n\t',
        deep: { 日本: { x: '' } },
        same: 'a\u001fb',
        'same ': 1,
      }),
      eventName: "'; drop table lead; --",
      timeMs: Date.UTC(2027, 5, 1),
    });
    const [leads, sales] = [
      [leadRecord('l1'), awkward],
      [saleRecord('s1', { amount: 2 ** 40, invoiceId: 'inv "1"' })],
    ];
    await store.append({ clicks: [], links: [], leads, sales }, at(100));
    assert.deepEqual(await listLeads(store), leads);
    assert.deepEqual(await listSales(store), sales);
    assert.deepEqual(await store.count(), counts({ leads: 2, sales: 1 }));
    await store.close();
  });

  test('a lead or sale that comes again changes nothing, in whatever batch', async () => {
    const store = await (await newPlace()).open();
    await store.append(
      { clicks: [], links: [], leads: [leadRecord('l1')], sales: [saleRecord('s1')] },
      at(100),
    );
    const again = {
      leads: [leadRecord('l1'), leadRecord('l2')],
      sales: [saleRecord('s1'), saleRecord('s2')],
    };
    await store.append({ clicks: [], links: [], ...again }, at(200));
    assert.deepEqual(await store.count(), counts({ leads: 2, sales: 2 }));
    await store.close();
  });

  test('the latest change of a partner counts, and one that left has no group', async () => {
    const store = await (await newPlace()).open();
    const link = linkRow('link_1', { partnerId: 'pn_1' });
    const put = async (offset: number, row: Partial<PartnerRow>) => {
      const partner = { ...PARTNER, ...row };
      await store.append({ clicks: [], links: [], partners: [partner] }, at(offset));
      const groups = await store.aggregate({ ...everything, event: 'clicks', groupBy: 'top_groups' });
      return groups.map(({ group, clicks }) => [group.groupId, clicks]);
    };
    await store.append({ clicks: [clickRecord(1)], links: [link] }, at(100));
    assert.deepEqual(await put(200, { groupId: 'g1', changeId: 5 }), [['g1', 1]]);
    assert.deepEqual(await put(300, { groupId: 'g0', changeId: 4 }), [['g1', 1]]);
    assert.deepEqual(await put(400, { groupId: 'g2', workspaceId: 'ws_2', changeId: 6 }), [['g1', 1]]);
    assert.deepEqual(await put(500, { groupId: 'g2', changeId: 6 }), [['g2', 1]]);
    assert.deepEqual(await put(600, { groupId: 'g2', deleted: true, changeId: 7 }), []);
    await store.close();
  });

  test('erasing a customer blanks its metadata and the addresses of its clicks, and nothing else', async () => {
    const store = await (await newPlace()).open();
    const timeMs = Date.UTC(2027, 0, 15);
    const ids = createClickIds(manualClock(timeMs));
    const [ip, told] = [
      '2001:4860:4860::8888',
      'https://acme.sng.link/x?ip=2001%3A4860%3A4860%3A%3A8888&n=1',
    ];
    const first = clickRecord(1, { id: ids(), timeMs, ip, url: told });
    const other = clickRecord(2, {
      id: ids(),
      timeMs,
      ip: '8.8.8.8',
      url: 'https://acme.sng.link/x?ip=8.8.8.8',
    });
    const leads = [
      leadRecord('l1', { click: first }),
      leadRecord('l2', { click: other, customerId: 'cus_2' }),
    ];
    const sales = [
      saleRecord('s1', { click: first }),
      saleRecord('s2', { click: other, customerId: 'cus_2' }),
    ];
    await store.append({ clicks: [first, other], links: [], leads, sales }, at(100));
    const erasures = [{ workspaceId: 'ws_1', customerId: 'cus_1', clickIds: [first.id, 'imported'] }];
    await store.append({ clicks: [], links: [], erasures }, at(200));
    await store.append({ clicks: [], links: [], leads, sales }, at(300));
    const blank = { metadata: '', click: { ...first, ip: '', url: 'https://acme.sng.link/x?ip=&n=1' } };
    assert.deepEqual(await store.findClick(first.id), blank.click);
    assert.deepEqual(await store.findClick(other.id), other);
    assert.deepEqual(await listLeads(store), [{ ...leads[0], ...blank }, leads[1]]);
    assert.deepEqual(await listSales(store), [{ ...sales[0], ...blank }, sales[1]]);
    const metadata = { path: ['plan'], operator: '=', value: 'pro' } as const;
    const found = await store.list({ ...everything, kind: 'leads', order: 'asc', metadata });
    assert.deepEqual(
      found.map(({ id }) => id),
      ['l2'],
    );
    await store.close();
  });
}
