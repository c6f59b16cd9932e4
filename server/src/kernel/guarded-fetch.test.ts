import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type LookupFunction } from 'node:net';
import { after, afterEach, before, describe, test } from 'node:test';
import { createAddressCheck, createGuardedFetch, type FetchResult } from './guarded-fetch.ts';

let handler: RequestListener = (_request, response) => response.end('hello');
const seen: IncomingMessage[] = [];
let server: Server;
let port = 0;
before(async () => {
  server = createServer((request, response) => {
    seen.push(request);
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
after(() => {
  server.closeAllConnections();
  server.close();
});
afterEach(() => {
  seen.length = 0;
});

const LIMITS = { timeoutMs: 5_000, maxBytes: 1_000 };
const open = createGuardedFetch({ allowPrivate: ['127.0.0.1'] });
const shut = createGuardedFetch({ allowPrivate: [] });
const here = (path = '/') => `http://127.0.0.1:${port}${path}`;

function resolving(...answers: string[][]): LookupFunction & { calls: number } {
  const lookup: LookupFunction = (_hostname, _options, callback) => {
    const addresses = answers[Math.min(fake.calls, answers.length - 1)] as string[];
    fake.calls += 1;
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  const fake = Object.assign(lookup, { calls: 0 });
  return fake;
}

function reasonOf(result: FetchResult): string {
  return result.ok ? `answered ${result.status}` : result.reason;
}

describe('a guarded request', () => {
  test('answers with status, headers and body', async () => {
    handler = (_request, response) => response.writeHead(418, { 'X-Kind': 'tea' }).end('short');
    const result = await open(here('/pot?a=b'), { ...LIMITS, headers: { 'X-Mine': '1' } });
    assert.ok(result.ok);
    assert.equal(result.status, 418);
    assert.equal(result.headers['x-kind'], 'tea');
    assert.equal(result.body.toString(), 'short');
    assert.equal(result.url, here('/pot?a=b'));
    assert.equal(seen[0]?.url, '/pot?a=b');
    assert.equal(seen[0]?.headers['x-mine'], '1');
  });

  test('sends a body', async () => {
    handler = (request, response) => request.pipe(response);
    const result = await open(here(), { ...LIMITS, method: 'POST', body: 'grüße' });
    assert.ok(result.ok);
    assert.equal(result.body.toString(), 'grüße');
    assert.equal(seen[0]?.headers['content-length'], '7');
  });

  for (const url of [
    'ftp://example.com/',
    'file:///etc/passwd',
    'data:text/html,x',
    'gopher://x/',
    'no address',
    '',
  ]) {
    test(`is not made to "${url}"`, async () => assert.equal(reasonOf(await open(url, LIMITS)), 'address'));
  }

  const hosts = [
    '127.0.0.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '127.1',
    '127.0.0.1.',
    '１２７.0.0.1',
    '0',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '169.254.169.254',
    'localhost',
  ];
  for (const host of hosts) {
    test(`does not reach ${host}`, async () => {
      assert.equal(reasonOf(await shut(`http://${host}:${port}/`, LIMITS)), 'closed_network');
      assert.equal(seen.length, 0);
    });
  }

  test('reaches a private address that is on the list, but not the one beside it', async () => {
    handler = (_request, response) => response.end('in');
    assert.equal(reasonOf(await open(here(), LIMITS)), 'answered 200');
    assert.equal(reasonOf(await open(`http://127.0.0.2:${port}/`, LIMITS)), 'closed_network');
  });
});

describe('a name', () => {
  const name = () => `http://name.example:${port}/`;

  test('that resolves to a closed network is refused, also when only one of its addresses is', async () => {
    for (const addresses of [
      ['127.0.0.1'],
      ['10.0.0.5'],
      ['93.184.216.34', '127.0.0.1'],
      ['::ffff:127.0.0.1'],
    ]) {
      const fetch = createGuardedFetch({ allowPrivate: [], lookup: resolving(addresses) });
      assert.equal(reasonOf(await fetch(name(), LIMITS)), 'closed_network', addresses.join());
    }
    assert.equal(seen.length, 0);
  });

  test('is resolved once per connection, so that a second answer is never used', async () => {
    handler = (_request, response) => response.end('first');
    const lookup = resolving(['127.0.0.1'], ['127.0.0.2']);
    const fetch = createGuardedFetch({ allowPrivate: ['127.0.0.1'], lookup });
    assert.equal(reasonOf(await fetch(name(), LIMITS)), 'answered 200');
    assert.equal(lookup.calls, 1);
  });

  test('that changes its mind between two hops is judged again', async () => {
    handler = (_request, response) => response.writeHead(302, { Location: '/again' }).end();
    const lookup = resolving(['127.0.0.1'], ['127.0.0.2']);
    const fetch = createGuardedFetch({ allowPrivate: ['127.0.0.1'], lookup });
    assert.equal(reasonOf(await fetch(name(), { ...LIMITS, maxRedirects: 3 })), 'closed_network');
    assert.equal(seen.length, 1);
  });

  test('without an address is a network failure', async () => {
    const nobody = createGuardedFetch({ allowPrivate: [], lookup: resolving([]) });
    assert.equal(reasonOf(await nobody(name(), LIMITS)), 'network');
    const failing: LookupFunction = (_hostname, _options, callback) => callback(new Error('ENOTFOUND'), []);
    const lost = createGuardedFetch({ allowPrivate: [], lookup: failing });
    assert.equal(reasonOf(await lost(name(), LIMITS)), 'network');
  });
});

describe('redirects', () => {
  test('are answers unless asked to be followed', async () => {
    handler = (_request, response) => response.writeHead(302, { Location: '/other' }).end();
    assert.equal(reasonOf(await open(here(), LIMITS)), 'answered 302');
    assert.equal(
      reasonOf(await open(here(), { ...LIMITS, method: 'POST', maxRedirects: 5 })),
      'answered 302',
    );
    assert.equal(seen.length, 2);
  });

  test('are followed up to the limit', async () => {
    handler = (request, response) => {
      const left = Number(request.url?.slice(1));
      if (left > 0) response.writeHead(307, { Location: `/${left - 1}` }).end();
      else response.end('there');
    };
    const result = await open(here('/3'), { ...LIMITS, maxRedirects: 3 });
    assert.ok(result.ok);
    assert.equal(result.url, here('/0'));
    assert.equal(reasonOf(await open(here('/4'), { ...LIMITS, maxRedirects: 3 })), 'too_many_redirects');
  });

  test('lead to no closed network and no other scheme', async () => {
    for (const [target, reason] of [
      ['http://169.254.169.254/latest/meta-data', 'closed_network'],
      [`http://[::1]:${port}/`, 'closed_network'],
      [`//127.0.0.2:${port}/`, 'closed_network'],
      ['file:///etc/passwd', 'address'],
      ['http://', 'address'],
    ]) {
      handler = (_request, response) => response.writeHead(301, { Location: target }).end();
      assert.equal(reasonOf(await open(here(), { ...LIMITS, maxRedirects: 5 })), reason, target);
    }
  });

  test('take the headers of the caller along only to the same origin', async () => {
    handler = (request, response) => {
      const targets: Record<string, string> = { '/a': '/b', '/b': `http://other.example:${port}/c` };
      const next = targets[request.url ?? ''];
      if (next) response.writeHead(302, { Location: next }).end();
      else response.end();
    };
    const fetch = createGuardedFetch({ allowPrivate: ['127.0.0.1'], lookup: resolving(['127.0.0.1']) });
    await fetch(here('/a'), { ...LIMITS, headers: { Authorization: 'Bearer x' }, maxRedirects: 5 });
    assert.deepEqual(
      seen.map(({ url, headers }) => [url, headers.authorization]),
      [
        ['/a', 'Bearer x'],
        ['/b', 'Bearer x'],
        ['/c', undefined],
      ],
    );
  });
});

describe('limits', () => {
  test('a larger body fails, or is cut where that was asked for', async () => {
    handler = (_request, response) => response.end('x'.repeat(1_001));
    assert.equal(reasonOf(await open(here(), LIMITS)), 'too_large');
    const cut = await open(here(), { ...LIMITS, truncate: true });
    assert.ok(cut.ok);
    assert.equal(cut.body.length, 1_000);
  });

  test('a body without end is not read to the end', async () => {
    handler = (_request, response) => {
      const feed = () => {
        while (!response.destroyed && response.write('x'.repeat(10_000)));
      };
      response.on('drain', feed);
      feed();
    };
    assert.equal(reasonOf(await open(here(), LIMITS)), 'too_large');
  });

  test('an answer that never comes, or never ends, is a time-out', async () => {
    handler = () => {};
    assert.equal(reasonOf(await open(here(), { ...LIMITS, timeoutMs: 50 })), 'timeout');
    handler = (_request, response) => {
      response.write('begin');
    };
    assert.equal(reasonOf(await open(here(), { ...LIMITS, timeoutMs: 50 })), 'timeout');
  });

  test('a handshake or a name that never finishes is a time-out of its own', async () => {
    const mute = createTcpServer(() => {});
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    const fetch = createGuardedFetch({ allowPrivate: ['127.0.0.1'], connectTimeoutMs: 50 });
    const { port: mutePort } = mute.address() as AddressInfo;
    assert.equal(reasonOf(await fetch(`https://127.0.0.1:${mutePort}/`, LIMITS)), 'timeout');
    mute.close();
    const nameless = createGuardedFetch({ allowPrivate: [], connectTimeoutMs: 50, lookup: () => {} });
    assert.equal(reasonOf(await nameless('http://name.example/', LIMITS)), 'timeout');
  });

  test('a cut connection, a closed port and an answer that is not HTTP are network failures', async () => {
    handler = (request) => request.socket.destroy();
    assert.equal(reasonOf(await open(here(), LIMITS)), 'network');
    handler = (_request, response) => {
      response.writeHead(200, { 'Content-Length': 500 });
      response.write('half', () => response.destroy());
    };
    assert.equal(reasonOf(await open(here(), LIMITS)), 'network');
    const rude = createTcpServer((socket) => socket.resume().end('220 not http\r\n'));
    await new Promise<void>((resolve) => rude.listen(0, '127.0.0.1', resolve));
    const { port: rudePort } = rude.address() as AddressInfo;
    assert.equal(reasonOf(await open(`http://127.0.0.1:${rudePort}/`, LIMITS)), 'network');
    await new Promise((resolve) => rude.close(resolve));
    assert.equal(reasonOf(await open(`http://127.0.0.1:${rudePort}/`, LIMITS)), 'network');
  });
});

describe('connections that are kept', () => {
  const kept = createGuardedFetch({ allowPrivate: ['127.0.0.1'], keepAlive: true });

  test('carry one request after the other', async () => {
    handler = (_request, response) => response.end('hello');
    for (let i = 0; i < 3; i += 1) assert.equal(reasonOf(await kept(here(), LIMITS)), 'answered 200');
    assert.equal(new Set(seen.map(({ socket }) => socket)).size, 1);
  });

  test('are replaced when the other side has closed them', async () => {
    handler = (_request, response) => response.end('hello');
    assert.equal(reasonOf(await kept(here(), LIMITS)), 'answered 200');
    handler = (request, response) => {
      // Only the connection that was there before is cut.
      if (request.socket === seen[0]?.socket) request.socket.destroy();
      else response.end('hello');
    };
    assert.equal(reasonOf(await kept(here(), LIMITS)), 'answered 200');
    assert.equal(new Set(seen.map(({ socket }) => socket)).size, 2);
  });
});

describe('the check of an address', () => {
  for (const [url, answers, refused] of [
    ['http://127.0.0.1/', [], true],
    ['http://[::ffff:10.0.0.1]/', [], true],
    ['https://169.254.169.254/latest', [], true],
    ['https://8.8.8.8/', [], false],
    ['ftp://8.8.8.8/', [], true],
    ['https://inside.example/', ['10.1.2.3'], true],
    ['https://mixed.example/', ['8.8.8.8', '::1'], true],
    ['https://outside.example/', ['8.8.8.8'], false],
    ['https://not-there-yet.example/', [], false],
  ] as const) {
    test(`${refused ? 'refuses' : 'passes'} ${url}${answers.length > 0 ? ` at ${answers}` : ''}`, async () => {
      const check = createAddressCheck({ allowPrivate: [], lookup: resolving([...answers]) });
      assert.equal((await check(url)) !== undefined, refused);
    });
  }

  test('passes what an operator opened, and a name that takes too long', async () => {
    const open = createAddressCheck({ allowPrivate: ['10.0.0.0/8'], lookup: resolving(['10.1.2.3']) });
    assert.equal(await open('http://10.9.9.9/'), undefined);
    assert.equal(await open('http://inside.example/'), undefined);
    const silent = createAddressCheck({ allowPrivate: [], lookup: () => {}, timeoutMs: 1 });
    assert.equal(await silent('http://silent.example/'), undefined);
  });
});
