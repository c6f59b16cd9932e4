// The demo as people make it: with and without a server, and killed on the way.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Finished,
  makePlace,
  type Place,
  runCli,
  startCli,
  startServer,
  untilLocked,
} from '../testing/processes.ts';
import { eventCount } from './demo-commands.ts';

async function ok(running: Promise<Finished>): Promise<string> {
  const { code, stdout, stderr } = await running;
  assert.equal(code, 0, stderr);
  return stdout;
}

async function readJson(place: Place, args: readonly string[]) {
  return JSON.parse(await ok(runCli(place, [...args, '--json'])));
}

test('--events takes numbers as people write them, and says what it takes otherwise', () => {
  const taken = { 100: 100, 2000: 2_000, '10k': 10_000, '1m': 1_000_000, '10M': 10_000_000, '2.5k': 2_500 };
  for (const [text, count] of Object.entries(taken)) assert.equal(eventCount.parse(text), count, text);
  for (const text of ['', '0', '99', '-5', '1e6', '10 k', '10kb', '1.0001k', '101m', 'many', '٣٠٠']) {
    const message = eventCount.safeParse(text).error?.issues[0]?.message ?? '';
    assert.match(message, /^takes a number from 100 to 100m, such as /, text);
  }
});

test('before the first start it makes a workspace with a key, and the server shows what is in it', async (t) => {
  const place = await makePlace(t);
  const text = await ok(runCli(place, ['demo', '--events', '1k']));
  const [, key = ''] =
    /^The workspace demo has 20 links on go\.demo\.example, 1,000 clicks, \d+ leads and \d+ sales\.\n\n {2}key {3}(\S+) /.exec(
      text,
    ) ?? [];
  assert.notEqual(key, '', text);
  const again = await ok(runCli(place, ['demo']));
  assert.match(again, /^Nothing to do: .*\nA key to look at them: linktrail key create demo --name Demo\n$/);
  const server = await startServer(t, place);
  const reply = await fetch(`${server.url}/api/analytics?event=clicks&interval=all`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  assert.equal(((await reply.json()) as { clicks: number }).clicks, 1_000);
});

test('beside a running server it fills the workspace that is named, and names one that is not there', async (t) => {
  const place = await makePlace(t);
  await startServer(t, place);
  const { key, ...made } = await readJson(place, ['demo', '--events', '300', '--workspace', 'main']);
  assert.equal(key, null);
  assert.deepEqual([made.workspace, made.clicks, made.wasThere], ['main', 300, false]);
  assert.equal((await readJson(place, ['events', '--settle'])).clicks, 300);
  const { code, stderr } = await runCli(place, ['demo', '--workspace', 'nowhere']);
  assert.deepEqual([code, stderr], [1, 'linktrail: There is no workspace nowhere.\n']);
});

for (const signal of ['SIGKILL', 'SIGINT'] as const) {
  test(`ended by ${signal} on the way, a repeat completes it and doubles nothing`, async (t) => {
    const place = await makePlace(t);
    const making = startCli(t, place, ['demo', '--events', '20k']);
    await untilLocked(place);
    making.kill(signal);
    await making.finished;
    const made = await readJson(place, ['demo', '--events', '20k']);
    const { clicks, distinctClicks, leads, sales } = await readJson(place, ['events', '--settle']);
    assert.deepEqual([clicks, distinctClicks], [20_000, 20_000]);
    assert.deepEqual([leads, sales], [made.leads, made.sales]);
  });
}
