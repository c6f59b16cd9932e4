import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createLinkSnapshot,
  type LinkSnapshot,
  type SnapshotDomain,
  type SnapshotSource,
} from './link-snapshot.ts';
import { PLAIN } from './packed-link.ts';
import type { VisitDomain, VisitLink } from './visit-link.ts';

const domainOf = (slug: string): VisitDomain => ({
  slug,
  shared: false,
  caseSensitive: false,
  notFoundUrl: null,
  expiredUrl: null,
  logo: null,
  assetLinks: null,
  appleAppSiteAssociation: null,
});
const linkOf = (domain: string, key: string, more: Partial<VisitLink> = {}): VisitLink => ({
  ...PLAIN,
  id: `link_${key}`,
  workspaceId: `ws_${key.length}`,
  domain,
  key,
  lookupKey: key.toLowerCase(),
  url: `https://acme.example/${key}`,
  ...more,
});

/** A store in memory that counts how often it is asked, and can be held up. */
function makeStore() {
  const domains = new Map<string, VisitDomain>();
  const links = new Map<string, VisitLink>();
  const calls: string[] = [];
  let gate: Promise<void> | undefined;
  const source: SnapshotSource = {
    async loadDomains(slugs) {
      calls.push(`domains ${slugs.join()}`);
      return new Map(slugs.flatMap((slug) => [...domains].filter(([name]) => name === slug)));
    },
    async loadLinks({ slug }, keys) {
      calls.push(`links ${slug}: ${keys.join()}`);
      const found = keys.flatMap((key) => links.get(`${slug}/${key}`) ?? []);
      await gate;
      return new Map(found.map((link) => [link.lookupKey, link]));
    },
  };
  return {
    source,
    calls,
    put(link: VisitLink) {
      domains.set(link.domain, domainOf(link.domain));
      links.set(`${link.domain}/${link.lookupKey}`, link);
    },
    drop: (slot: string) => links.delete(slot),
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return () => {
        gate = undefined;
        resolve();
      };
    },
  };
}

async function find(snapshot: LinkSnapshot, slug: string, key: string): Promise<VisitLink | null> {
  const domain = await snapshot.domain(slug);
  return domain && snapshot.link(domain, key);
}

test('a link comes back as it is in the store, plain or not, and then without asking again', async () => {
  const store = makeStore();
  const plain = linkOf('a.example', 'Plain');
  const rich = linkOf('a.example', 'rich', {
    password: 's',
    geo: { US: 'https://us.example' },
    expiresAt: 5,
  });
  store.put(plain);
  store.put(rich);
  const snapshot = createLinkSnapshot({ source: store.source, maxLinks: 100 });
  for (let round = 0; round < 2; round++) {
    assert.deepEqual(await find(snapshot, 'a.example', 'plain'), plain);
    assert.deepEqual(await find(snapshot, 'a.example', 'rich'), rich);
    assert.equal(await find(snapshot, 'a.example', 'none'), null);
    assert.equal(await snapshot.domain('b.example'), null);
  }
  assert.equal(store.calls.length, 5);
  const domain = snapshot.domain('a.example') as SnapshotDomain;
  assert.deepEqual(snapshot.link(domain, 'plain'), plain, 'no promise once it is there');
  assert.deepEqual(snapshot.stats(), { links: 2, domains: 1, hits: 4, misses: 3 });
});

test('the misses of one turn are loaded in one call per domain, each key once', async () => {
  const store = makeStore();
  for (const slug of ['a.example', 'b.example']) for (const key of ['x', 'y']) store.put(linkOf(slug, key));
  const snapshot = createLinkSnapshot({ source: store.source, maxLinks: 100 });
  const [a, b] = (await Promise.all([
    snapshot.domain('a.example'),
    snapshot.domain('b.example'),
  ])) as SnapshotDomain[];
  await Promise.all(
    [a, a, b].flatMap((domain) => ['x', 'y'].map((key) => snapshot.link(domain as SnapshotDomain, key))),
  );
  assert.deepEqual(store.calls, [
    'domains a.example,b.example',
    'links a.example: x,y',
    'links b.example: x,y',
  ]);
});

test('a forgotten link is read again, whatever case it was asked in, and also when there was none', async () => {
  const store = makeStore();
  store.put(linkOf('a.example', 'other'));
  const snapshot = createLinkSnapshot({ source: store.source, maxLinks: 100 });
  assert.equal(await find(snapshot, 'a.example', 'spring'), null);
  store.put(linkOf('a.example', 'Spring'));
  snapshot.forgetLink('a.example', 'Spring');
  assert.equal((await find(snapshot, 'a.example', 'spring'))?.key, 'Spring');
  store.drop('a.example/spring');
  snapshot.forgetLink('a.example', 'Spring');
  assert.equal(await find(snapshot, 'a.example', 'spring'), null);
  snapshot.forgetLink('unknown.example', 'spring');
});

test('what was read before a change is not kept after it', async () => {
  const store = makeStore();
  store.put(linkOf('a.example', 'x', { url: 'https://old.example' }));
  const snapshot = createLinkSnapshot({ source: store.source, maxLinks: 100 });
  await snapshot.domain('a.example');
  for (const forget of [
    () => snapshot.forgetLink('a.example', 'x'),
    () => snapshot.forgetDomain('a.example'),
    snapshot.forgetAll,
  ]) {
    const release = store.hold();
    const early = find(snapshot, 'a.example', 'x');
    // Let the load begin before the change.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    store.put(linkOf('a.example', 'x', { url: 'https://new.example' }));
    forget();
    release();
    await early;
    assert.equal((await find(snapshot, 'a.example', 'x'))?.url, 'https://new.example');
    store.put(linkOf('a.example', 'x', { url: 'https://old.example' }));
    snapshot.forgetLink('a.example', 'x');
  }
});

test('a changed setting of a workspace holds for all of its links, and a reading from before it is not kept', async () => {
  const store = makeStore();
  const rich = { password: 's' };
  const put = (ipPrivacy: VisitLink['ipPrivacy']) => {
    store.put(linkOf('a.example', 'x', { ipPrivacy }));
    store.put(linkOf('a.example', 'y', { ipPrivacy, ...rich }));
    store.put(linkOf('a.example', 'long', { workspaceId: 'ws_other' }));
  };
  put('standard');
  const snapshot = createLinkSnapshot({ source: store.source, maxLinks: 100 });
  const settings = () =>
    Promise.all(['x', 'y', 'long'].map(async (key) => (await find(snapshot, 'a.example', key))?.ipPrivacy));
  assert.deepEqual(await settings(), ['standard', 'standard', 'standard']);
  snapshot.forgetLink('a.example', 'x');
  const release = store.hold();
  const early = find(snapshot, 'a.example', 'x');
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  put('drop');
  snapshot.forgetWorkspace('ws_1');
  release();
  await early;
  store.calls.length = 0;
  assert.equal((await find(snapshot, 'a.example', 'y'))?.ipPrivacy, 'drop');
  assert.deepEqual(await settings(), ['drop', 'drop', 'standard']);
  assert.deepEqual(store.calls, ['links a.example: y', 'links a.example: x']);
});

test('forgetting a domain forgets its links and no others', async () => {
  const store = makeStore();
  store.put(linkOf('a.example', 'x'));
  store.put(linkOf('b.example', 'x'));
  const snapshot = createLinkSnapshot({ source: store.source, maxLinks: 100 });
  await Promise.all(['a.example', 'b.example'].map((slug) => find(snapshot, slug, 'x')));
  store.calls.length = 0;
  snapshot.forgetDomain('a.example');
  await Promise.all(['a.example', 'b.example'].map((slug) => find(snapshot, slug, 'x')));
  assert.deepEqual(store.calls, ['domains a.example', 'links a.example: x']);
});

test('it holds no more links than it may, and a scan through unknown keys pushes none out', async () => {
  const store = makeStore();
  for (let i = 0; i < 500; i++) store.put(linkOf('a.example', `k${i}`));
  const snapshot = createLinkSnapshot({ source: store.source, maxLinks: 100, maxAbsent: 50 });
  for (let i = 0; i < 500; i++) {
    await find(snapshot, 'a.example', `k${i}`);
    assert.ok(snapshot.stats().links <= 100);
  }
  const { misses } = snapshot.stats();
  for (let i = 0; i < 500; i++) await find(snapshot, 'a.example', `unknown${i}`);
  await find(snapshot, 'a.example', 'k499');
  assert.equal(snapshot.stats().misses, misses + 500);
});

test('a load that fails is tried again by the next visit', async () => {
  const store = makeStore();
  store.put(linkOf('a.example', 'x'));
  let failing = true;
  const source: SnapshotSource = {
    ...store.source,
    loadLinks: (domain, keys) =>
      failing ? Promise.reject(new Error('down')) : store.source.loadLinks(domain, keys),
  };
  const snapshot = createLinkSnapshot({ source, maxLinks: 100 });
  await assert.rejects(find(snapshot, 'a.example', 'x'), /down/);
  failing = false;
  assert.equal((await find(snapshot, 'a.example', 'x'))?.key, 'x');
});
