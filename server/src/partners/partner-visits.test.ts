import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachDatabase } from '../testing/databases.ts';
import { openProgram } from '../testing/program-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';
import { visit } from '../testing/visitors.ts';

eachDatabase('visits to links of partners', (databases) => {
  let t: TestApp;
  let port: number;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place(), env: { PORT: '0' } });
    ({ port } = (await t.app.listen()).address);
  });
  after(() => t.close());

  test('are counted for the partner, name the link to the site, and end with a ban', async () => {
    const p = await openProgram(t);
    const { id, links } = await p.partner({ name: 'Visited' });
    const { domain, key } = links[0];
    for (const ua of ['one', 'two', 'three']) {
      const headers = {
        'user-agent': `Mozilla/5.0 (X11; Linux x86_64) ${ua} Chrome/138.0.0.0 Safari/537.36`,
      };
      const { status, location } = await visit(port, `/${key}`, { host: domain, headers });
      assert.equal(status, 302);
      assert.match(location ?? '', /^https:\/\/acme\.example\/\?via=visited&dub_id=/);
    }
    await t.app.events.settle();
    assert.equal((await p.get(`/partners/${id}`)).totalClicks, 3);
    assert.equal((await p.get(`/links/${links[0].id}`)).clicks, 3);
    await p.post('/partners/ban', { partnerId: id, reason: 'fake_traffic' });
    assert.equal((await visit(port, `/${key}`, { host: domain })).status, 404);
    await p.post('/partners/unban', { partnerId: id });
    assert.equal((await visit(port, `/${key}`, { host: domain })).status, 302);
    await p.post('/partners/deactivate', { partnerId: id });
    t.clock.advance(1);
    assert.equal((await visit(port, `/${key}`, { host: domain })).status, 410);
  });
});
