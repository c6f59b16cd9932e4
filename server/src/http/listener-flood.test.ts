// Attacks that hold connections open, on one port in both protocols at once. The figures are printed, not
// asserted: attackers share the process with the server, and on a busy machine the figures say more about
// the machine. That others are served is asserted.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { get as getHttp, Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { get as getHttps, Agent as HttpsAgent } from 'node:https';
import { connect as connectTcp, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { selfSignedCertificate } from './certificate.ts';
import { type ListenerLimits, listen } from './listener.ts';

const PROTOCOLS = ['http', 'https'] as const;
type Protocol = (typeof PROTOCOLS)[number];
type Attack = 'silent' | 'slow headers' | 'slow body';

const OPENINGS: Record<Attack, string> = {
  silent: '',
  'slow headers': 'GET / HTTP/1.1\r\nHost: a.example\r\nX-Slow: ',
  'slow body': 'POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 100000\r\n\r\n',
};
const DRIP_MS = 200;

async function start(t: TestContext, limits: Partial<ListenerLimits>) {
  const folder = await mkdtemp(join(tmpdir(), 'linktrail-flood-'));
  const refused = new Map<string, number>();
  const listener = await listen({
    host: '127.0.0.1',
    port: 0,
    certificate: selfSignedCertificate(folder, []),
    handler: async (req, res) => {
      for await (const _ of req);
      res.end('ok');
    },
    errorBody: (code, message) => JSON.stringify({ error: { code, message } }),
    limits,
    onRefused: (reason) => refused.set(reason, (refused.get(reason) ?? 0) + 1),
  });
  t.after(async () => {
    await listener.close(0);
    await rm(folder, { recursive: true });
  });
  return { listener, refused };
}

/** Opens the connection, keeps dripping bytes unless it is a silent one; `ended` resolves when it is closed. */
async function attack(kind: Attack, protocol: Protocol, port: number): Promise<{ ended: Promise<unknown> }> {
  const target = { host: '127.0.0.1', port };
  const socket: Socket =
    protocol === 'http' ? connectTcp(target) : connectTls({ ...target, rejectUnauthorized: false });
  socket.on('error', () => {});
  socket.resume();
  const closed = new Promise((resolve) => socket.on('close', resolve));
  const ready = new Promise((resolve) =>
    socket.on(protocol === 'http' ? 'connect' : 'secureConnect', resolve),
  );
  await Promise.race([ready, closed]);
  if (kind === 'silent') return { ended: closed };
  socket.write(OPENINGS[kind]);
  const drip = setInterval(() => socket.write('x'), DRIP_MS);
  return { ended: closed.then(() => clearInterval(drip)) };
}

async function request(
  protocol: Protocol,
  port: number,
  agents: Record<Protocol, HttpAgent>,
): Promise<number> {
  const started = performance.now();
  const target = { host: '127.0.0.1', port, agent: agents[protocol], rejectUnauthorized: false };
  const sent = protocol === 'http' ? getHttp(target) : getHttps(target);
  const [res] = (await once(sent, 'response')) as [IncomingMessage];
  assert.equal(res.statusCode, 200);
  await res.resume().toArray();
  return performance.now() - started;
}

function makeAgents(t: TestContext, keepAlive: boolean): Record<Protocol, HttpAgent> {
  const agents = { http: new HttpAgent({ keepAlive }), https: new HttpsAgent({ keepAlive }) };
  t.after(() => {
    for (const protocol of PROTOCOLS) agents[protocol].destroy();
  });
  return agents;
}

function figures(timesMs: number[]): string {
  const sorted = timesMs.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.floor((sorted.length - 1) * part)]?.toFixed(2);
  return `${sorted.length} requests, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
}

describe('connections held open', () => {
  it('end by time-out, and others are answered all the while', async (t) => {
    const limits = { firstByteMs: 1_000, headersMs: 1_000, requestMs: 1_000 };
    const { listener, refused } = await start(t, limits);
    const { port } = listener.address;
    const agents = makeAgents(t, true);
    const attacks: Promise<{ ended: Promise<unknown> }>[] = [];
    for (const kind of Object.keys(OPENINGS) as Attack[]) {
      for (let i = 0; i < 100; i++) attacks.push(attack(kind, 'http', port));
      for (let i = 0; i < 20; i++) attacks.push(attack(kind, 'https', port));
    }
    const opened = await Promise.all(attacks);
    let left = opened.length;
    for (const { ended } of opened) ended.then(() => left--);
    t.diagnostic(`${listener.connections()} of ${opened.length} attacking connections are open`);

    for (const phase of ['during the attack', 'afterwards']) {
      const timesMs: Record<Protocol, number[]> = { http: [], https: [] };
      do {
        for (const protocol of PROTOCOLS) timesMs[protocol].push(await request(protocol, port, agents));
      } while (left > 0 || timesMs.http.length < 500);
      for (const protocol of PROTOCOLS) t.diagnostic(`${phase}, ${protocol}: ${figures(timesMs[protocol])}`);
    }
    await Promise.all(opened.map(({ ended }) => ended));
    assert.equal(refused.get('silent'), 120);
    assert.equal(refused.get('too_slow'), 240);
    assert.ok(listener.connections() <= PROTOCOLS.length);
  });

  for (const kind of ['silent', 'slow headers'] as const) {
    it(`do not lock others out when they are more than the port takes (${kind})`, async (t) => {
      const { listener, refused } = await start(t, { maxConnections: 40 });
      const { port } = listener.address;
      const agents = makeAgents(t, false);
      let most = 0;
      // Fewer in a round than the port takes: the newest must survive until their request is here.
      for (let round = 0; round < 12; round++) {
        const flood = PROTOCOLS.flatMap((protocol) =>
          Array.from({ length: 8 }, () => attack(kind, protocol, port)),
        );
        const others = PROTOCOLS.map((protocol) => request(protocol, port, agents));
        await Promise.all([...flood, ...others]);
        most = Math.max(most, listener.connections());
      }
      assert.ok(most > 30 && most <= 40, `${most} connections at most`);
      assert.ok((refused.get('evicted') ?? 0) > 100);
      assert.equal(refused.get('too_many_connections'), undefined);
    });
  }
});
