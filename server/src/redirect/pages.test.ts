import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PLAIN } from '../links/packed-link.ts';
import type { VisitDomain, VisitLink } from '../links/visit-link.ts';
import { type PageName, renderPage } from './pages.ts';

const HOSTILE = `"><script>alert(1)</script><img src=x onerror='alert(2)'>&`;
const LINK: VisitLink = {
  ...PLAIN,
  id: 'link_1',
  workspaceId: 'ws_1',
  domain: 'go.acme.example',
  key: 'spring',
  lookupKey: 'spring',
  url: 'https://acme.example/',
  title: HOSTILE,
  description: HOSTILE,
  image: `https://acme.example/i.png?${HOSTILE}`,
  video: `https://acme.example/v.mp4?${HOSTILE}`,
};
const DOMAIN: VisitDomain = {
  slug: `go.acme.example${HOSTILE}`,
  shared: false,
  caseSensitive: false,
  notFoundUrl: null,
  expiredUrl: null,
  logo: `https://acme.example/logo.png${HOSTILE}`,
  assetLinks: null,
  appleAppSiteAssociation: null,
};
const NAMES: PageName[] = [
  'not_found',
  'banned',
  'expired',
  'placeholder',
  'inspect',
  'password',
  'preview',
  'app',
  'cloaked',
  'unavailable',
];
const render = (name: PageName, target = `https://acme.example/?${HOSTILE}`) =>
  renderPage(name, { link: LINK, domain: DOMAIN, target, problem: HOSTILE });

describe('every page', () => {
  for (const name of NAMES) {
    const { html, policy } = render(name);
    test(`${name}: is whole, in a language, with a title, and not for search engines`, () => {
      assert.match(html, /^<!doctype html><html lang="en"><head><meta charset="utf-8">/);
      assert.match(html, /<title>[^<]+<\/title>/);
      assert.match(html, /<meta name="viewport" content="width=device-width,initial-scale=1">/);
      assert.match(html, /<meta name="robots" content="noindex">/);
      assert.match(html, /<\/body><\/html>$/);
    });
    test(`${name}: nothing that people wrote becomes markup`, () => {
      assert.doesNotMatch(html, /<script|<img src=x|alert\(1\)<\//);
      assert.doesNotMatch(html.replaceAll(/="[^"]*"/g, ''), /onerror='/);
    });
    test(`${name}: runs no script, loads no style or font from elsewhere, and cannot be framed`, () => {
      assert.match(policy, /^default-src 'none'; /);
      assert.match(policy, /frame-ancestors 'none'/);
      assert.match(policy, /base-uri 'none'/);
      assert.doesNotMatch(policy, /script-src|unsafe|font-src|style-src [^;]*http/);
      assert.doesNotMatch(html, /<link rel="stylesheet"|@import|url\(/);
    });
    if (name === 'cloaked') continue;
    test(`${name}: has one heading`, () => assert.equal(html.match(/<h1>/g)?.length, 1));
  }

  test('the form names its field, says what was wrong, and sends to where it came from', () => {
    const { html, policy } = render('password');
    assert.match(
      html,
      /<label for="password">Password<\/label><input id="password" name="password" type="password"/,
    );
    assert.match(html, /<p class="error" role="alert" id="problem">/);
    assert.match(html, /aria-describedby="problem"/);
    assert.match(html, /<form method="post">/);
    assert.match(policy, /form-action 'self'/);
    assert.doesNotMatch(
      renderPage('password', { link: LINK, domain: DOMAIN }).html,
      /role="alert"|aria-describedby/,
    );
  });

  test('only the form can be sent', () => {
    for (const name of NAMES.filter((name) => name !== 'password')) {
      assert.doesNotMatch(render(name).policy, /form-action (?!'none')/, name);
    }
  });

  test('a cloaked page has a frame with a title, and frames web addresses only', () => {
    const { html, policy } = render('cloaked', 'https://acme.example/?a=1&b=2');
    assert.match(html, /<iframe src="https:\/\/acme.example\/\?a=1&amp;b=2" title="/);
    assert.match(policy, /frame-src https: http:;/);
  });

  test('a page that opens an app does so at once, and offers a button', () => {
    const { html } = render('app', 'mailto:a@acme.example?subject=a&body=b');
    assert.match(
      html,
      /<meta http-equiv="refresh" content="0;url=mailto:a@acme.example\?subject=a&amp;body=b">/,
    );
    assert.match(html, /<a class="button" href="mailto:a@acme.example\?subject=a&amp;body=b">/);
  });

  test('a preview carries what networks read, and does not lead on', () => {
    const { html } = render('preview');
    for (const name of [
      'og:title',
      'og:description',
      'og:image',
      'og:video',
      'twitter:title',
      'twitter:player',
    ]) {
      assert.ok(html.includes(`"${name}" content="`), name);
    }
    assert.match(html, /"twitter:card" content="summary_large_image"/);
    assert.doesNotMatch(html, /http-equiv|<a /);
    const bare = renderPage('preview', { link: { ...LINK, ...PLAIN }, domain: DOMAIN }).html;
    assert.match(bare, /"twitter:card" content="summary"/);
    assert.match(bare, /<title>acme.example<\/title>/);
  });

  test('the preview of an address shows where it leads', () => {
    const { html } = render('inspect');
    assert.match(html, /<dt>Leads to<\/dt><dd>https:\/\/acme.example\/<\/dd>/);
    assert.match(html, /href="https:\/\/go.acme.example\/spring"/);
  });

  test('a logo that is no web address is left out', () => {
    const page = renderPage('not_found', { link: null, domain: { ...DOMAIN, logo: 'javascript:alert(1)' } });
    assert.doesNotMatch(page.html, /<img/);
  });
});
