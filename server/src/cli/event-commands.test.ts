// The event store from the command line, beside a server and without one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePlace, runCli, startServer } from '../testing/processes.ts';
import type { EventStatus } from './event-commands.ts';

test('the event store is shown and rebuilt, beside a running server and without one', async (t) => {
  const place = await makePlace(t, { LINKTRAIL_API_KEY: 'lt_event_commands_0000' });
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCli(place, [...args, '--json']);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  const server = await startServer(t, place);
  const headers = { Authorization: 'Bearer lt_event_commands_0000', 'Content-Type': 'application/json' };
  const body = JSON.stringify({ url: 'https://example.com/', key: 'seen' });
  assert.equal((await fetch(`${server.url}/api/links`, { method: 'POST', headers, body })).status, 200);
  const browser = { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0' };
  assert.equal((await fetch(`${server.url}/seen`, { headers: browser, redirect: 'manual' })).status, 302);
  const shown = (await json('events', '--settle')) as EventStatus;
  assert.deepEqual([shown.clicks, shown.links, shown.dropped], [1, 1, 0]);
  assert.deepEqual(
    shown.sinks.map(({ name, lastError }) => [name, lastError]),
    [
      ['events', null],
      ['counters', null],
    ],
  );
  assert.equal((await json('rebuild')).finished, true);
  assert.equal(((await json('events', '--settle')) as EventStatus).clicks, 1);
  server.kill('SIGTERM');
  await server.finished;
  assert.equal((await json('rebuild')).finished, true);
  const text = await runCli(place, ['events', '--settle']);
  assert.match(text.stdout, /^1 clicks of 1 links are stored/);
});
