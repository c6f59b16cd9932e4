// What every event store guarantees; each engine's test file calls it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClickIds } from '../events/click-id.ts';
import { manualClock } from '../kernel/clock.ts';
import { clickRecord, linkRow } from '../testing/click-records.ts';
import type { LinkRow } from './link-row.ts';
import type { EventStore } from './store.ts';

export interface StorePlace {
  /** Opens the same store again and again. */
  open(): Promise<EventStore>;
}

export function eventStoreContract(newPlace: () => Promise<StorePlace>): void {
  const at = (offset: number) => ({ segment: 1, offset });

  test('a new store has nothing, and then what was stored, also after it was opened again', async () => {
    const place = await newPlace();
    const store = await place.open();
    assert.equal(await store.committed(), undefined);
    assert.deepEqual(await store.count(), { clicks: 0, distinctClicks: 0, links: 0 });
    await store.append({ clicks: [clickRecord(1), clickRecord(2)], links: [linkRow('link_1')] }, at(100));
    await store.close();
    const again = await place.open();
    assert.deepEqual(await again.committed(), at(100));
    assert.deepEqual(await again.count(), { clicks: 2, distinctClicks: 2, links: 1 });
    await again.close();
  });

  test('a batch that is stored already changes nothing', async () => {
    const store = await (await newPlace()).open();
    const batch = { clicks: [clickRecord(1)], links: [] };
    await store.append(batch, at(100));
    await store.append(batch, at(100));
    await store.append({ clicks: [clickRecord(2)], links: [] }, at(90));
    assert.deepEqual(await store.count(), { clicks: 1, distinctClicks: 1, links: 0 });
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
}
