import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { browserScriptPages, scriptNames } from './browser-script.ts';

const pages = new Map(browserScriptPages());

test('every name that loaders ask for serves the same script', async () => {
  assert.deepEqual(scriptNames().sort(), [
    'script.conversion-tracking.js',
    'script.js',
    'script.outbound-domains.conversion-tracking.js',
    'script.outbound-domains.js',
    'script.site-visit.conversion-tracking.js',
    'script.site-visit.js',
    'script.site-visit.outbound-domains.conversion-tracking.js',
    'script.site-visit.outbound-domains.js',
  ]);
  const bodies = new Set<string>();
  for (const name of scriptNames()) {
    const page = await pages.get(`/${name}`)?.({ headers: {} });
    assert.equal(page?.status, 200);
    assert.equal(page.headers['Access-Control-Allow-Origin'], '*');
    bodies.add(page.body.toString());
  }
  assert.equal(bodies.size, 1);
});

test('a browser gets it compressed, and once it has it only word that it did not change', async () => {
  const show = pages.get('/script.js');
  assert.ok(show);
  const plain = await show({ headers: {} });
  const packed = await show({ headers: { 'accept-encoding': 'br, gzip' } });
  assert.equal(packed.headers['Content-Encoding'], 'gzip');
  assert.deepEqual(gunzipSync(packed.body), plain.body);
  const again = await show({ headers: { 'if-none-match': `W/${plain.headers.ETag}` } });
  assert.deepEqual([again.status, again.body.length], [304, 0]);
  assert.equal((await show({ headers: { 'if-none-match': '"other"' } })).status, 200);
});
