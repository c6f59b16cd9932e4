// The script for pages in a real browser: pages of a shop on two hosts, the server on a third, and the loader that
// sites install from npm, unchanged.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { inChromium } from './testing/chromium.ts';
import { freePort } from './testing/processes.ts';
import { openTestApp, type TestApp, type TestWorkspace } from './testing/test-app.ts';

const LOADER = readFileSync(fileURLToPath(import.meta.resolve('@dub/analytics')), 'utf8');
const PUBLISHABLE_KEY = 'lt_pk_abcdefghijklmnop';

inChromium('the script for pages', (openBrowser) => {
  let t: TestApp;
  let workspace: TestWorkspace;
  let site: Server;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let origin: string;
  let domain: string;
  let shop: string;
  let pay: string;
  /** The body of the shop's pages. */
  let html = '';

  before(async () => {
    domain = `localhost:${await freePort()}`;
    origin = `http://${domain}`;
    t = await openTestApp({ env: { PORT: new URL(origin).port } });
    workspace = await t.workspace();
    await t.app.listen();
    site = createServer((request, response) => {
      const isLoader = request.url === '/loader.js';
      response.setHeader('Content-Type', isLoader ? 'text/javascript' : 'text/html; charset=utf-8');
      response.end(isLoader ? LOADER : `<!doctype html><title>Shop</title>${html}`);
    });
    await new Promise<void>((resolve) => void site.listen(0, '127.0.0.1', resolve));
    const sitePort = (site.address() as AddressInfo).port;
    shop = `http://shop.localhost:${sitePort}`;
    pay = `http://pay.localhost:${sitePort}`;
    await t.request('PATCH', `/workspaces/${workspace.slug}`, {
      key: workspace.key,
      body: { publishableKey: PUBLISHABLE_KEY, allowedHostnames: ['shop.localhost'] },
    });
    browser = await openBrowser();
  });
  after(async () => {
    site.close();
    await t.close();
  });
  beforeEach(async () => {
    await context?.close();
    // Headless browsers name themselves, and robots are not counted.
    const userAgent =
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';
    context = await browser.newContext({ userAgent });
    page = await context.newPage();
  });

  async function newLink(body: object): Promise<{ id: string; key: string }> {
    const reply = await t.request('POST', '/links', { key: workspace.key, body });
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  }

  /** A page that loads the script as the loader from npm does it. */
  function loaded(props: object, then = ''): string {
    const all = { apiHost: `${origin}/api`, scriptProps: { src: `${origin}/script.js` }, ...props };
    return `<script type="module">
      import { inject } from '/loader.js';
      inject(${JSON.stringify(all)});
      ${then}
    </script>`;
  }

  async function clickCookie(): Promise<string | undefined> {
    return (await context.cookies()).find(({ name }) => name === 'dub_id')?.value;
  }

  const answerTo = (path: string) =>
    page.waitForResponse(
      (response) => response.url().endsWith(path) && response.request().method() === 'POST',
    );

  async function clicksOf(id: string): Promise<number> {
    await t.app.events.settle();
    return (await t.request('GET', `/links/${id}`, { key: workspace.key })).json.clicks;
  }

  test('a page opened with the key of a link reports the click and keeps its id in a cookie', async () => {
    const link = await newLink({ url: `${shop}/`, key: 'kim' });
    html = loaded({ domainsConfig: { refer: domain } });
    const answered = answerTo('/track/click');
    await page.goto(`${shop}/?via=kim`);
    const { clickId } = await (await answered).json();
    await page.waitForFunction(`document.cookie.includes('dub_id=')`);
    assert.equal(await clickCookie(), clickId);
    assert.equal(await clicksOf(link.id), 1);
  });

  test('the id that a short link appended to the address is kept, the first one where the site says so', async () => {
    html = loaded({ attributionModel: 'first-click' });
    await page.goto(`${shop}/?dub_id=first`);
    await page.waitForFunction(`document.cookie.includes('dub_id=first')`);
    await page.goto(`${shop}/?dub_id=second`);
    await page.waitForFunction(`'DubAnalytics' in window`);
    assert.equal(await clickCookie(), 'first');
    html = loaded({});
    await page.goto(`${shop}/?dub_id=third`);
    await page.waitForFunction(`document.cookie.includes('dub_id=third')`);
  });

  test('an address cannot write more into the cookie than an id', async () => {
    html = loaded({});
    await page.goto(`${shop}/?dub_id=${encodeURIComponent('abc; path=/elsewhere; max-age=9')}`);
    await page.waitForFunction(`'DubAnalytics' in window`);
    assert.deepEqual(await context.cookies(), []);
  });

  test('a plain element loads the script as well, and cookies last as the site says', async () => {
    await newLink({ url: `${shop}/`, key: 'plain' });
    const domains = JSON.stringify({ refer: domain });
    const options = JSON.stringify({ maxAge: 3600, sameSite: true, httpOnly: true });
    html = `<script defer src="${origin}/script.js" data-domains='${domains}'
      data-query-params='["ref"]' data-cookie-options='${options}'></script>`;
    await page.goto(`${shop}/?ref=plain`);
    await page.waitForFunction(`document.cookie.includes('dub_id=')`);
    const [cookie] = await context.cookies();
    assert.deepEqual([cookie?.domain, cookie?.sameSite], ['.shop.localhost', 'Strict']);
    assert.ok((cookie?.expires ?? 0) * 1_000 < Date.now() + 7_200_000, 'an hour, and not the 90 days');
  });

  test('a visit to the site itself is reported once', async () => {
    const link = await newLink({ url: `${shop}/`, key: 'prices' });
    html = loaded({ domainsConfig: { site: domain } });
    const answered = answerTo('/track/visit');
    await page.goto(`${shop}/prices`);
    const { clickId } = await (await answered).json();
    await page.waitForFunction(`document.cookie.includes('dub_id=')`);
    assert.equal(await clickCookie(), clickId);
    let more = 0;
    page.on('request', (request) => {
      if (request.url().includes('/track/')) more += 1;
    });
    await page.reload();
    await page.waitForFunction(`'DubAnalytics' in window`);
    assert.deepEqual([more, await clicksOf(link.id)], [0, 1]);
  });

  test('links and frames that lead to the listed domains carry the click, others do not', async () => {
    html = `<a id="pay" href="${pay}/buy?x=1">Pay</a><a id="other" href="https://example.com/">Other</a>
      <a id="own" href="/about">About</a><iframe id="frame" src="${pay}/frame"></iframe>
      ${loaded({ domainsConfig: { outbound: ['pay.localhost'] } })}`;
    await page.goto(`${shop}/?dub_id=abc`);
    await page.waitForFunction(`document.querySelector('#pay')?.getAttribute('href')?.includes('dub_id')`);
    const addresses = await Promise.all(
      ['#pay', '#other', '#own'].map((id) => page.getAttribute(id, 'href')),
    );
    assert.deepEqual(addresses, [`${pay}/buy?x=1&dub_id=abc`, 'https://example.com/', '/about']);
    assert.equal(await page.getAttribute('#frame', 'src'), `${pay}/frame?dub_id=abc`);
    // What a page adds when it shows another part of itself.
    const added = await page.evaluate(`(() => {
      document.body.insertAdjacentHTML('beforeend', '<a id="new" href="${pay}/new">New</a>'
        + '<iframe id="inner" srcdoc="&lt;a href=${pay}/inner&gt;Inner&lt;/a&gt;"></iframe>');
      history.pushState({}, '', '/next');
      return [document.querySelector('#new').href, document.querySelector('#inner').srcdoc];
    })()`);
    const [address, inner] = added as [string, string];
    assert.equal(address, `${pay}/new?dub_id=abc`);
    assert.ok(inner.includes(`${pay}/inner?dub_id=abc`), inner);
  });

  test('what is called before the script is there waits for it, and ready comes after the click', async () => {
    await newLink({ url: `${shop}/`, key: 'queued' });
    html = loaded(
      {},
      `dubAnalytics('ready', () => { document.title = 'ready ' + document.cookie.includes('dub_id='); });
       dubAnalytics.trackClick({ domain: ${JSON.stringify(domain)}, key: 'queued' });`,
    );
    await page.goto(`${shop}/`);
    await page.waitForFunction(`document.title.startsWith('ready')`);
    assert.equal(await page.title(), 'ready true');
  });

  test('a site that is not among the allowed ones records nothing', async () => {
    const link = await newLink({ url: `${pay}/`, key: 'elsewhere' });
    html = loaded({ domainsConfig: { refer: domain } });
    const answered = answerTo('/track/click');
    await page.goto(`${pay}/?via=elsewhere`);
    assert.equal((await answered).status(), 403);
    assert.equal(await clickCookie(), undefined);
    assert.equal(await clicksOf(link.id), 0);
  });

  test('a visitor comes by a short link, signs up and buys: lead and sale are recorded', async () => {
    const link = await newLink({ url: `${shop}/welcome`, key: 'welcome', trackConversion: true });
    html = loaded(
      { publishableKey: PUBLISHABLE_KEY },
      `dubAnalytics.trackLead({ eventName: 'Sign up', customerExternalId: 'u_1', customerName: 'Ada' });`,
    );
    const lead = answerTo('/track/lead/client');
    await page.goto(`${origin}/welcome`);
    assert.match(page.url(), /\/\/shop\.localhost.*dub_id=/);
    assert.equal((await lead).status(), 200, await (await lead).text());
    // As an application does that shows the component of the loader a second time.
    await page.evaluate(
      `import('/loader.js').then(({ inject }) => inject({ scriptProps: { src: '${origin}/script.js' } }))`,
    );
    const sale = answerTo('/track/sale/client');
    await page.evaluate(
      `dubAnalytics.trackSale({ customerExternalId: 'u_1', amount: 4900, eventName: 'Purchase' })`,
    );
    assert.equal((await sale).status(), 200, await (await sale).text());
    const { json } = await t.request('GET', `/links/${link.id}`, { key: workspace.key });
    assert.deepEqual([json.leads, json.sales, json.saleAmount], [1, 1, 4900]);
  });
});
