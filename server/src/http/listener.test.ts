import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect as connectTcp, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { type Certificate, selfSignedCertificate } from './certificate.ts';
import { type ListenerLimits, type ListenerOptions, listen } from './listener.ts';

type Protocol = 'plain' | 'tls';
const PROTOCOLS: Protocol[] = ['plain', 'tls'];

const folders: string[] = [];
let certificate: () => Promise<Certificate>;
let otherCertificate: () => Promise<Certificate>;
before(async () => {
  for (let i = 0; i < 2; i++) folders.push(await mkdtemp(join(tmpdir(), 'linktrail-listener-')));
  certificate = selfSignedCertificate(folders[0] as string, []);
  otherCertificate = selfSignedCertificate(folders[1] as string, []);
});
after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

interface Setup extends Partial<Omit<ListenerOptions, 'limits'>> {
  limits?: Partial<ListenerLimits>;
}

async function start(t: TestContext, setup: Setup = {}) {
  const refused: string[] = [];
  const errors: unknown[] = [];
  const listener = await listen({
    host: '127.0.0.1',
    port: 0,
    certificate,
    handler: echo,
    errorBody: (code, message) =>
      JSON.stringify({ error: { code, message, doc_url: 'https://docs.example' } }),
    onRefused: (reason) => refused.push(reason),
    onError: (error) => errors.push(error),
    ...setup,
  });
  t.after(() => listener.close(0));
  const open = (protocol: Protocol) => client(protocol, listener.address.port);
  return { listener, refused, errors, open };
}

/** Answers with what was asked, and the size of the body. */
async function echo(req: IncomingMessage, res: ServerResponse): Promise<void> {
  let bytes = 0;
  for await (const chunk of req) bytes += (chunk as Buffer).length;
  const encrypted = 'encrypted' in req.socket;
  res.setHeader('content-type', 'text/plain');
  res.end(`<${req.method} ${req.url} ${bytes} ${encrypted ? 'tls' : 'plain'}>`);
}

interface Client {
  socket: Socket;
  /** Everything received, once the other side closed the connection. */
  closed: Promise<string>;
  send(text: string): void;
  /** Everything received so far, once it matches. */
  until(pattern: RegExp): Promise<string>;
}

async function client(protocol: Protocol, port: number): Promise<Client> {
  const target = { host: '127.0.0.1', port, allowHalfOpen: true };
  const socket =
    protocol === 'plain' ? connectTcp(target) : connectTls({ ...target, rejectUnauthorized: false });
  let text = '';
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('end', () => socket.end());
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)));
  await once(socket, protocol === 'plain' ? 'connect' : 'secureConnect');
  const until = async (pattern: RegExp) => {
    while (!pattern.test(text)) {
      const lost = closed.then(() => assert.match(text, pattern, 'closed before the answer came'));
      await Promise.race([once(socket, 'data'), lost]);
    }
    return text;
  };
  return { socket, closed, send: (part) => socket.write(part), until };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a.example\r\n\r\n`;

function envelope(answer: string): { code: string; message: string } {
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)).error;
}

for (const protocol of PROTOCOLS) {
  describe(`requests over ${protocol}`, () => {
    it('are answered, several on one connection', async (t) => {
      const { open, listener } = await start(t);
      const peer = await open(protocol);
      peer.send(get('/one'));
      await peer.until(new RegExp(`<GET /one 0 ${protocol}>`));
      peer.send(get('/two'));
      const text = await peer.until(/<GET \/two/);
      assert.equal(text.match(/HTTP\/1\.1 200 OK/g)?.length, 2);
      assert.equal(listener.connections(), 1);
    });

    it('are answered in order when they arrive in one piece', async (t) => {
      const { open } = await start(t);
      const peer = await open(protocol);
      peer.send(['/1', '/2', '/3', '/4'].map(get).join(''));
      const text = await peer.until(/<GET \/4/);
      assert.deepEqual(text.match(/<GET \/\d/g), ['<GET /1', '<GET /2', '<GET /3', '<GET /4']);
    });

    it('may begin with a single byte', async (t) => {
      const { open } = await start(t);
      const peer = await open(protocol);
      peer.send('G');
      peer.send(get('/split').slice(1));
      await peer.until(/<GET \/split/);
    });

    it('may have large bodies', async (t) => {
      const { open } = await start(t);
      const peer = await open(protocol);
      const size = 5_000_000;
      peer.send(`POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: ${size}\r\n\r\n`);
      peer.send('x'.repeat(size));
      await peer.until(new RegExp(`<POST /up ${size} `));
    });

    it('are answered after the client closed its side', async (t) => {
      const { open, listener } = await start(t);
      const peer = await open(protocol);
      peer.socket.end(get('/half'));
      assert.match(await peer.closed, /<GET \/half/);
      await listener.close(0);
      assert.equal(listener.connections(), 0);
    });

    it('that are no HTTP get a 400 error envelope', async (t) => {
      const { open, refused } = await start(t);
      const peer = await open(protocol);
      peer.send('NONSENSE\r\n\r\n');
      const answer = await peer.closed;
      assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/);
      assert.equal(envelope(answer).code, 'bad_request');
      assert.deepEqual(refused, ['malformed']);
    });

    it('that are no HTTP do not cost the requests before them their answers', async (t) => {
      const { open } = await start(t);
      const peer = await open(protocol);
      peer.send(`${get('/good')}NONSENSE\r\n\r\n`);
      const answer = await peer.closed;
      assert.ok(answer.indexOf('<GET /good') < answer.indexOf('400 Bad Request'), answer);
      assert.match(answer, /<GET \/good/);
    });

    it('with too large headers get a 400 error envelope', async (t) => {
      const { open } = await start(t, { limits: { maxHeaderBytes: 2_000 } });
      const peer = await open(protocol);
      peer.send(`GET / HTTP/1.1\r\nHost: a\r\nX: ${'y'.repeat(4_000)}\r\n\r\n`);
      const answer = await peer.closed;
      assert.match(answer, /^HTTP\/1\.1 400 /);
      assert.match(envelope(answer).message, /too large/);
    });

    it('without a Host get a 400 error envelope', async (t) => {
      const { open } = await start(t);
      const peer = await open(protocol);
      peer.send('GET / HTTP/1.1\r\n\r\n');
      const answer = await peer.closed;
      assert.match(answer, /^HTTP\/1\.1 400 /);
      assert.match(envelope(answer).message, /Host/);
    });

    it('whose handler throws get a 500 error envelope, and others are still answered', async (t) => {
      const thrown = new Error('broken');
      const { open, errors } = await start(t, {
        handler: (req, res) => {
          if (req.url === '/throw') throw thrown;
          return req.url === '/reject' ? Promise.reject(thrown) : echo(req, res);
        },
      });
      for (const path of ['/throw', '/reject']) {
        const peer = await open(protocol);
        peer.send(get(path));
        const answer = await peer.closed;
        assert.match(answer, /^HTTP\/1\.1 500 /);
        assert.equal(envelope(answer).code, 'internal_server_error');
        assert.doesNotMatch(answer, /broken/);
      }
      assert.deepEqual(errors, [thrown, thrown]);
      const peer = await open(protocol);
      peer.send(get('/fine'));
      await peer.until(/<GET \/fine/);
    });

    it('whose client goes away in the middle are no failure of the handler', async (t) => {
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      const { open, errors, listener } = await start(t, {
        handler: (req, res) => {
          req.once('data', () => peer.socket.destroy());
          return echo(req, res).finally(resolve);
        },
      });
      const peer = await open(protocol);
      peer.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\npart');
      await ended;
      await listener.close(0);
      assert.deepEqual(errors, []);
    });

    it('whose handler throws in the middle of an answer are cut off', async (t) => {
      const { open } = await start(t, {
        handler: (_req, res) => {
          res.writeHead(200, { 'content-length': 10 });
          res.write('half');
          throw new Error('broken');
        },
      });
      const peer = await open(protocol);
      peer.send(get('/'));
      assert.doesNotMatch(await peer.closed, /500/);
    });
  });

  describe(`time-outs over ${protocol}`, () => {
    it('close a connection that sends nothing', async (t) => {
      const { open, refused, listener } = await start(t, { limits: { firstByteMs: 80 } });
      const peer = await open(protocol);
      assert.equal(await peer.closed, '');
      assert.deepEqual(refused, ['silent']);
      await listener.close(0);
    });

    it('end slow headers with a 400 error envelope', async (t) => {
      const { open, refused } = await start(t, { limits: { headersMs: 80 } });
      const peer = await open(protocol);
      peer.send('GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ');
      const answer = await peer.closed;
      assert.match(answer, /^HTTP\/1\.1 400 /);
      assert.match(envelope(answer).message, /took too long/);
      assert.deepEqual(refused, ['too_slow']);
    });

    it('end a slow body with a 400 error envelope', async (t) => {
      const { open, refused } = await start(t, { limits: { requestMs: 120 } });
      const peer = await open(protocol);
      peer.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nslow');
      const answer = await peer.closed;
      assert.match(answer, /^HTTP\/1\.1 400 /);
      assert.match(envelope(answer).message, /took too long/);
      assert.deepEqual(refused, ['too_slow']);
    });

    it('close an idle kept-alive connection', async (t) => {
      const { open, refused } = await start(t, { limits: { keepAliveMs: 50 } });
      const peer = await open(protocol);
      peer.send(get('/'));
      assert.match(await peer.closed, /<GET \//);
      assert.deepEqual(refused, []);
    });

    it('close a connection whose answer nobody reads', async (t) => {
      const { promise: cut, resolve } = Promise.withResolvers<boolean>();
      const { open } = await start(t, {
        limits: { stalledMs: 150 },
        handler: (_req, res) => {
          res.on('close', () => resolve(!res.writableFinished));
          res.end('x'.repeat(50_000_000));
        },
      });
      const peer = await open(protocol);
      peer.socket.pause();
      peer.send(get('/'));
      assert.ok(await cut);
      peer.socket.destroy();
    });
  });

  describe(`caps over ${protocol}`, () => {
    const limits = { maxConnections: 3 };

    it('give up an idle connection for a new one', async (t) => {
      const { open, refused, listener } = await start(t, { limits });
      const used = await open(protocol);
      used.send(get('/used'));
      await used.until(/<GET/);
      const silent = [await open(protocol), await open(protocol)];
      const newest = await open(protocol);
      newest.send(get('/newest'));
      await newest.until(/<GET \/newest/);
      await silent[0]?.closed;
      assert.equal(listener.connections(), 3);
      assert.equal(refused[0], 'evicted');
      used.send(get('/again'));
      await used.until(/<GET \/again/);
    });

    it('refuse the newest connection when all have a request under way', async (t) => {
      const waiting: ServerResponse[] = [];
      const { open, refused } = await start(t, {
        limits,
        handler: (_req, res) => {
          waiting.push(res);
          if (waiting.length === 3) reached();
        },
      });
      const { promise: full, resolve: reached } = Promise.withResolvers<void>();
      const busy = await Promise.all([1, 2, 3].map(() => open(protocol)));
      for (const peer of busy) peer.send(get('/'));
      await full;
      const late = connectTcp({ host: '127.0.0.1', port: busy[0]?.socket.remotePort as number });
      await once(late, 'error');
      assert.deepEqual(refused, ['too_many_connections']);
      for (const res of waiting) res.end('<done>');
      for (const peer of busy) await peer.until(/<done>/);
    });

    it('survive many more idle connections than there is room for', async (t) => {
      const { open, listener } = await start(t, { limits: { maxConnections: 20 } });
      const flood = await Promise.all(
        Array.from({ length: 100 }, () => open(protocol).catch(() => undefined)),
      );
      assert.ok(listener.connections() <= 20);
      const peer = await open(protocol);
      peer.send(get('/other'));
      await peer.until(/<GET \/other/);
      for (const idle of flood) idle?.socket.destroy();
    });

    it('may count per address', async (t) => {
      const { open, refused, listener } = await start(t, { limits: { maxConnectionsPerAddress: 1 } });
      const first = await open(protocol);
      const second = connectTcp({ host: '127.0.0.1', port: listener.address.port });
      await once(second, 'error');
      assert.deepEqual(refused, ['too_many_from_address']);
      first.send(get('/first'));
      await first.until(/<GET \/first/);
    });
  });

  describe(`closing over ${protocol}`, () => {
    it('finishes the request under way, and closes idle and silent connections at once', async (t) => {
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<ServerResponse>();
      const { open, listener } = await start(t, {
        handler: (req, res) => (req.url === '/slow' ? arrive(res) : echo(req, res)),
      });
      const [idle, silent, busy] = [await open(protocol), await open(protocol), await open(protocol)];
      idle.send(get('/idle'));
      await idle.until(/<GET/);
      busy.send(get('/slow'));
      const res = await arrived;
      const closed = listener.close(60_000);
      assert.equal(listener.close(60_000), closed);
      await Promise.all([idle.closed, silent.closed]);
      res.end('<slow>');
      const answer = await busy.closed;
      assert.match(answer, /Connection: close\r\n/);
      assert.match(answer, /<slow>/);
      await closed;
      assert.equal(listener.connections(), 0);
      await listener.close(0);
    });

    it('finishes an answer that had already begun, and a request that had', async (t) => {
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<ServerResponse>();
      const { open, listener } = await start(t, {
        handler: (req, res) => (req.url === '/stream' ? arrive(res) : echo(req, res)),
      });
      const [streaming, sending] = [await open(protocol), await open(protocol)];
      sending.send('POST /late HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n');
      await sending.until(/100 Continue/);
      streaming.send(get('/stream'));
      const res = await arrived;
      res.write('<first ');
      await streaming.until(/<first/);
      const closed = listener.close(60_000);
      res.end('last>');
      sending.send('data');
      assert.match(await streaming.closed, /<first [\s\S]*last>/);
      assert.match(await sending.closed, /Connection: close\r\n[\s\S]*<POST \/late 4/);
      await closed;
    });

    it('destroys what is left after the grace period', async (t) => {
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<ServerResponse>();
      const { open, listener } = await start(t, { handler: (_req, res) => arrive(res) });
      const peer = await open(protocol);
      peer.send(get('/never'));
      await arrived;
      await listener.close(20);
      assert.equal(await peer.closed, '');
      assert.equal(listener.connections(), 0);
    });
  });
}

describe('one port', () => {
  it('speaks both protocols at the same time, and asks for the certificate when TLS comes', async (t) => {
    let asked = 0;
    const { open } = await start(t, {
      certificate: () => {
        asked += 1;
        return certificate();
      },
    });
    const plain = await open('plain');
    plain.send(get('/a'));
    await plain.until(/<GET \/a 0 plain>/);
    assert.equal(asked, 0);
    const tls = await Promise.all([open('tls'), open('tls')]);
    for (const peer of tls) peer.send(get('/b'));
    for (const peer of tls) await peer.until(/<GET \/b 0 tls>/);
    assert.equal(asked, 1);
    plain.send(get('/c'));
    await plain.until(/<GET \/c/);
  });

  it('agrees on http/1.1 and refuses TLS before 1.2', async (t) => {
    const { listener, refused } = await start(t);
    const target = { host: '127.0.0.1', port: listener.address.port, rejectUnauthorized: false };
    const modern = connectTls({ ...target, ALPNProtocols: ['h2', 'http/1.1'] });
    await once(modern, 'secureConnect');
    assert.equal(modern.alpnProtocol, 'http/1.1');
    assert.equal(modern.getProtocol(), 'TLSv1.3');
    modern.destroy();
    const old = connectTls({
      ...target,
      minVersion: 'TLSv1.1',
      maxVersion: 'TLSv1.1',
      ciphers: 'ALL@SECLEVEL=0',
    });
    await once(old, 'error');
    assert.ok(refused.includes('tls'));
  });

  it('closes what only looks like TLS, and a handshake that does not go on', async (t) => {
    const { open, refused, listener } = await start(t, { limits: { handshakeMs: 80 } });
    const garbage = await open('plain');
    garbage.send('\x16 this is no handshake at all, whatever the first byte may say');
    await garbage.closed;
    const stuck = await open('plain');
    stuck.send('\x16');
    await stuck.closed;
    assert.deepEqual(refused, ['tls', 'tls']);
    await listener.close(0);
    assert.equal(listener.connections(), 0);
  });

  it('forgets connections that were reset or closed before their first byte', async (t) => {
    const { open, listener } = await start(t);
    const reset = await open('plain');
    reset.send('GET /');
    reset.socket.resetAndDestroy();
    const gone = await open('plain');
    gone.socket.end();
    await gone.closed;
    const aborted = await open('tls');
    aborted.socket.destroy();
    await listener.close(60_000);
    assert.equal(listener.connections(), 0);
  });

  it('takes up a renewed certificate, and keeps the old one when the renewal cannot be used', async (t) => {
    let answer: () => Promise<Certificate> = certificate;
    const { promise: failed, resolve: fail } = Promise.withResolvers<unknown>();
    const { open } = await start(t, {
      certificate: () => answer(),
      limits: { certificateCheckMs: 1 },
      onError: fail,
    });
    const served = async () => {
      const peer = await open('tls');
      const { fingerprint256 } = (peer.socket as TLSSocket).getPeerX509Certificate() ?? {};
      peer.socket.destroy();
      return fingerprint256;
    };
    const first = await served();
    let broken = false;
    failed.then(() => {
      broken = true;
    });
    answer = async () => ({ key: 'no key', cert: 'no certificate' });
    while (!broken) assert.equal(await served(), first);
    answer = otherCertificate;
    let latest = await served();
    while (latest === first) latest = await served();
    assert.notEqual(latest, first);
  });

  it('closes TLS connections while there is no certificate, and tries again', async (t) => {
    let calls = 0;
    const { listener, errors, refused, open } = await start(t, {
      certificate: async () => {
        calls += 1;
        if (calls === 1) throw new Error('no certificate yet');
        return certificate();
      },
    });
    const early = connectTls({ host: '127.0.0.1', port: listener.address.port, rejectUnauthorized: false });
    await once(early, 'error');
    assert.equal(errors.length, 1);
    assert.deepEqual(refused, ['tls']);
    const peer = await open('tls');
    peer.send(get('/'));
    await peer.until(/<GET/);
  });

  it('says so when it cannot listen', async (t) => {
    const { listener } = await start(t);
    await assert.rejects(start(t, { port: listener.address.port }), { code: 'EADDRINUSE' });
  });
});
