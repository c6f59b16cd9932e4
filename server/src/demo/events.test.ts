import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clickTime } from '../events/click-id.ts';
import { continentOf, keepsNoAddress } from '../kernel/continents.ts';
import { createReadAgent } from '../pipeline/user-agent.ts';
import { createDemoEvents, type DemoPlan } from './events.ts';
import { AGENTS, PLACES } from './visitors.ts';

const CLICKS = 20_000;
const END_MS = Date.UTC(2027, 0, 15, 10);
const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
const plan: DemoPlan = {
  workspaceId: 'ws_1',
  domain: 'go.demo.example',
  seed: 1,
  clicks: CLICKS,
  endMs: END_MS,
  mark: '0123456789AB',
};
const forever = new AbortController().signal;
const events = createDemoEvents(plan);
const clicks = Array.from({ length: CLICKS }, (_, n) => events.click(n));
const records = clicks.map(events.record);

const countBy = <T>(items: readonly T[], keyOf: (item: T) => string | number) =>
  Object.fromEntries([...Map.groupBy(items, keyOf)].map(([key, some]) => [key, some.length]));

test('each click is the same whichever was made before it, and another seed makes others', () => {
  const again = createDemoEvents(plan);
  for (const n of [CLICKS - 1, 0, 777]) assert.deepEqual(again.record(again.click(n)), records[n]);
  const other = createDemoEvents({ ...plan, seed: 2 });
  assert.notDeepEqual(other.record(other.click(777)), records[777]);
});

test('clicks come in order within the year, with ids of their own that carry their time', () => {
  for (const [i, { timeMs, id }] of records.entries()) {
    assert.ok(timeMs >= (records[i - 1]?.timeMs ?? END_MS - YEAR_MS) && timeMs <= END_MS);
    assert.equal(clickTime(id), timeMs);
  }
  assert.equal(new Set(records.map(({ id }) => id)).size, CLICKS);
});

test('no click is earlier than its link', () => {
  for (const { link, timeMs } of clicks) {
    const { createdAtMs } = events.catalog.links[link] as (typeof events.catalog.links)[number];
    assert.ok(createdAtMs <= timeMs);
  }
});

test('traffic grows and has its days and hours', () => {
  const half = clicks.filter(({ timeMs }) => timeMs < END_MS - YEAR_MS / 2).length;
  assert.ok(half < CLICKS * 0.4, `${half}`);
  const days = countBy(clicks, ({ timeMs }) => new Date(timeMs).getUTCDay());
  assert.ok((days[0] as number) < (days[2] as number) * 0.8, JSON.stringify(days));
  const hours = countBy(clicks, ({ timeMs }) => new Date(timeMs).getUTCHours());
  assert.ok((hours[3] as number) < (hours[15] as number) * 0.5, JSON.stringify(hours));
});

test('some links are popular and most are not', () => {
  const counts = Object.values(countBy(clicks, ({ link }) => link)).sort((a, b) => b - a);
  const total = (some: number[]) => some.reduce((sum, count) => sum + count, 0);
  assert.ok(counts.length > 50);
  assert.ok(total(counts.slice(0, 10)) > CLICKS / 3);
  assert.ok((counts.at(-1) as number) < CLICKS / 500);
});

test('about two clicks in a hundred become leads, three leads in ten buy, and some pay again', () => {
  const leads = clicks.flatMap(({ conversion }) => conversion ?? []);
  const buyers = leads.filter(({ sales }) => sales.length > 0);
  assert.ok(leads.length > CLICKS * 0.015 && leads.length < CLICKS * 0.03, `${leads.length}`);
  assert.ok(buyers.length > leads.length * 0.2 && buyers.length < leads.length * 0.4, `${buyers.length}`);
  assert.ok(buyers.some(({ sales }) => sales.length > 3));
  for (const { timeMs, conversion } of clicks) {
    const times = [timeMs, ...(conversion ? [conversion.leadMs] : [])];
    for (const sale of conversion?.sales ?? []) times.push(sale.timeMs);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    );
    assert.ok((times.at(-1) as number) <= END_MS);
  }
});

test('the sums of links are those of their events', async () => {
  const sums = await events.sum(forever);
  for (const [i, sum] of sums.entries()) {
    const own = clicks.filter(({ link }) => link === i);
    const sales = own.flatMap(({ conversion }) => conversion?.sales ?? []);
    assert.deepEqual(
      [sum.clicks, sum.leads, sum.sales, sum.lastClickedMs],
      [own.length, own.filter(({ conversion }) => conversion).length, sales.length, own.at(-1)?.timeMs ?? 0],
    );
    assert.equal(
      sum.saleAmount,
      sales.reduce((total, { amount }) => total + amount, 0),
    );
  }
});

test('devices are what their user agents say, and places are where they are said to be', () => {
  const readAgent = createReadAgent();
  for (const { weight: _, userAgent, ...agent } of AGENTS)
    assert.deepEqual({ ...readAgent(userAgent) }, agent);
  for (const { country, continent, city, region, weight } of PLACES) {
    assert.equal(continent, continentOf(country), city);
    assert.ok(city !== '' && region !== '' && weight > 0, city);
  }
});

test('addresses are nobody’s, and none is kept where none may be', () => {
  for (const { ip, country } of records) {
    if (keepsNoAddress(country)) assert.equal(ip, '', country);
    else assert.match(ip, /^(192\.0\.2|198\.51\.100|203\.0\.113)\.\d+$/);
  }
});

test('codes are scanned, and scans come from no page', () => {
  const scanned = records.filter(({ qr }) => qr);
  assert.ok(scanned.length > CLICKS / 200 && scanned.length < CLICKS / 3, `${scanned.length}`);
  assert.ok(scanned.every(({ trigger, referer }) => trigger === 'qr' && referer === '(direct)'));
  const referers = countBy(records, ({ referer }) => referer);
  assert.ok(Object.keys(referers).length > 8, JSON.stringify(referers));
});
