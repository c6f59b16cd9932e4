import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { test } from 'node:test';
import { createClientSignals } from './client-signal.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

test('a request is given up when its client closes, and not before', async () => {
  const signalOf = createClientSignals();
  const never = new AbortController().signal;
  const server = createServer();
  Object.assign(server, { httpAllowHalfOpen: true });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const nextRequest = async () => {
    client.write(GET);
    return (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  };
  try {
    const [answered, response] = await nextRequest();
    const first = signalOf(never, answered);
    response.end('done');
    await once(client, 'data');
    const [waiting] = await nextRequest();
    const second = signalOf(never, waiting);
    assert.deepEqual([first.aborted, second.aborted], [false, false]);
    const given = once(second, 'abort');
    client.end();
    await given;
    // One that came with the end of its connection is answered all the same.
    assert.equal(signalOf(never, waiting).aborted, false);
  } finally {
    client.destroy();
    server.close();
    server.closeAllConnections();
  }
});

test('without a connection, the request alone says so', () => {
  const request = new AbortController();
  const signal = createClientSignals()(request.signal, undefined);
  request.abort();
  assert.equal(signal.aborted, true);
});
