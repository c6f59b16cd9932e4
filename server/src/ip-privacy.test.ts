// What is kept of a visitor's address, from the visit to the event store, by the setting of the workspace.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ClickRecord } from './analytics/click-record.ts';
import type { IpPrivacy } from './kernel/ip-privacy.ts';
import { openTestApp, type TestApp, type TestWorkspace } from './testing/test-app.ts';
import { BROWSER, recordedClicks, visit } from './testing/visitors.ts';

const GERMAN = '193.99.144.80';
const AMERICAN = '8.8.8.8';
const AMERICAN_V6 = '2001:4860:4860::8888';

const KEPT: [setting: IpPrivacy, german: string, american: string, americanV6: string][] = [
  ['standard', '', AMERICAN, AMERICAN_V6],
  ['keep', GERMAN, AMERICAN, AMERICAN_V6],
  ['truncate', '193.99.144.0', '8.8.8.0', '2001:4860:4860::'],
  ['drop', '', '', ''],
];

describe('the addresses of visitors', () => {
  let t: TestApp;
  let port: number;
  let workspace: TestWorkspace;
  before(async () => {
    t = await openTestApp({ env: { PORT: '0' } });
    port = (await t.app.listen()).address.port;
    workspace = await t.workspace();
    await call('PATCH', `/workspaces/${workspace.id}`, { allowedHostnames: ['acme.example'] });
  });
  after(() => t.close());

  async function call(method: string, path: string, body: object) {
    const reply = await t.request(method, path, { key: workspace.key, body });
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${reply.text}`);
    return reply.json;
  }

  const open = (key: string, ip: string) => visit(port, `/${key}`, { headers: { 'x-forwarded-for': ip } });

  const report = (key: string, ip: string) =>
    t.request('POST', '/track/click', {
      ip,
      body: { domain: 'localhost', key },
      headers: { 'user-agent': BROWSER, referer: 'https://acme.example/' },
    });

  /** As stored, by the address that the visitor had. */
  async function storedOf(key: string): Promise<Map<string, ClickRecord>> {
    const clicks = (await recordedClicks(t.app)).filter((click) => click.key === key);
    const stored = new Map<string, ClickRecord>();
    for (const { id, ip } of clicks) {
      stored.set(ip, JSON.parse(await t.app.events.pipeline.query('click', { id })) as ClickRecord);
    }
    return stored;
  }

  for (const [setting, german, american, americanV6] of KEPT) {
    for (const how of ['visit', 'report'] as const) {
      test(`of a ${how} are kept as the setting ${setting} says`, async () => {
        const key = `${setting}-${how}`;
        await call('POST', '/links', { url: 'https://acme.example/', key });
        // The link is in memory with the setting from before.
        await open(key, '9.9.9.9');
        await call('PATCH', `/workspaces/${workspace.id}`, { ipPrivacy: setting });
        for (const ip of [GERMAN, AMERICAN, AMERICAN_V6]) await (how === 'visit' ? open : report)(key, ip);
        await t.app.events.settle();
        const stored = await storedOf(key);
        const kept = [GERMAN, AMERICAN, AMERICAN_V6].map((ip) => stored.get(ip)?.ip);
        assert.deepEqual(kept, [german, american, americanV6]);
        const places = [GERMAN, AMERICAN, AMERICAN_V6].map((ip) => stored.get(ip)?.country);
        assert.deepEqual(places, ['DE', 'US', 'US'], 'where they are is known all the same');
      });
    }
  }

  test('that are not kept are nowhere in what is stored, also where the destination was told them', async () => {
    await call('PATCH', `/workspaces/${workspace.id}`, { ipPrivacy: 'drop' });
    await call('POST', '/links', { url: 'https://acme.sng.link/x', key: 'told' });
    const { location } = await open('told', AMERICAN);
    assert.ok(location?.includes(`ip=${AMERICAN}`));
    const record = (await storedOf('told')).get(AMERICAN);
    assert.ok(record?.url.startsWith('https://acme.sng.link/x?'));
    assert.ok(!JSON.stringify(record).includes(AMERICAN));
  });
});
