import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createHosts, type HostKind, parseHost } from './host.ts';

describe('parseHost', () => {
  const cases: [text: string, name: string | undefined, port?: number][] = [
    ['Go.Example.COM', 'go.example.com'],
    ['go.example.com.', 'go.example.com'],
    ['go.example.com.:8080', 'go.example.com', 8080],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['under_score.example', 'under_score.example'],
    ['a', 'a'],
    ['127.0.0.1:3000', '127.0.0.1', 3000],
    ['[::1]', '[::1]'],
    ['[2001:DB8::1]:443', '[2001:db8::1]', 443],
    ['', undefined],
    ['.', undefined],
    ['.example.com', undefined],
    ['-a.example', undefined],
    ['a..b', undefined],
    ['go.example.com..', undefined],
    ['go example.com', undefined],
    ['go.example.com\t', undefined],
    ['user@go.example.com', undefined],
    ['go.example.com/path', undefined],
    ['go.example.com?x', undefined],
    ['go.example.com\\x', undefined],
    ['bücher.example', undefined],
    ['::1', undefined],
    ['[::1', undefined],
    ['[1:2]', undefined],
    ['[127.0.0.1]', undefined],
    ['a:0', undefined],
    ['a:65536', undefined],
    ['a:', undefined],
    ['a:8o', undefined],
    [`${'a'.repeat(300)}.example`, undefined],
  ];
  for (const [text, name, port] of cases) {
    it(`reads ${JSON.stringify(text.slice(0, 40))} as ${name ?? 'invalid'}`, () => {
      assert.deepEqual(parseHost(text), name === undefined ? undefined : { name, port });
    });
  }
});

describe('createHosts', () => {
  const hosts = createHosts({
    defaultDomain: 'Links.Example.com',
    publicUrl: 'https://console.example.com:8443/base',
    apiHost: 'api.example.com',
    appHost: 'app.example.com.:443',
  });
  const cases: [host: string, kind: HostKind][] = [
    ['links.example.com', 'service'],
    ['LINKS.example.com.', 'service'],
    ['links.example.com:443', 'service'],
    ['links.example.com:80', 'service'],
    ['links.example.com:3000', 'service'],
    ['console.example.com:8443', 'service'],
    ['console.example.com', 'domain'],
    ['console.example.com:9', 'domain'],
    ['api.example.com', 'api'],
    ['API.example.com:443', 'api'],
    ['app.example.com', 'app'],
    ['app.example.com.', 'app'],
    ['localhost', 'service'],
    ['localhost:8787', 'service'],
    ['127.0.0.1:8787', 'service'],
    ['10.1.2.3', 'service'],
    ['[::1]:8787', 'service'],
    ['[2001:db8::5]', 'service'],
    ['go.example.com', 'domain'],
    ['sub.links.example.com', 'domain'],
    ['links.example.com.evil.example', 'domain'],
    ['localhost.example.com', 'domain'],
    ['999.1.1.1', 'domain'],
    ['links.example.com/x', 'domain'],
    ['', 'service'],
  ];
  for (const [host, kind] of cases) {
    it(`takes "${host}" for ${kind}`, () => assert.equal(hosts.classify(host), kind));
  }

  it('lets a reserved host win over the rule for local names', () => {
    const local = createHosts({ defaultDomain: 'localhost:3000', apiHost: 'localhost:3001' });
    assert.equal(local.classify('localhost:3001'), 'api');
    assert.equal(local.classify('localhost:3000'), 'service');
  });

  it('needs the default domain only', () => {
    assert.equal(createHosts({ defaultDomain: 'a.example', apiHost: '' }).classify('b.example'), 'domain');
  });

  it('says which setting cannot be used', () => {
    assert.throws(
      () => createHosts({ defaultDomain: 'https://a.example' }),
      /The default domain.*https:\/\/a/,
    );
    assert.throws(
      () => createHosts({ defaultDomain: 'a.example', publicUrl: 'a.example' }),
      /The public URL/,
    );
    assert.throws(() => createHosts({ defaultDomain: 'a.example', apiHost: 'a b' }), /The API host.*"a b"/);
  });
});
