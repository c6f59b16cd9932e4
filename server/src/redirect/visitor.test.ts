import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { isRobot, isRobotAgent, readCookies, systemOf } from './visitor.ts';

const require = createRequire(import.meta.url);
const NO_QUERY = new URLSearchParams();
const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36';

/** Lists that the detector was not made from: it is judged by them and never tuned to a single entry. */
describe('robots are told from people', () => {
  test('at least 98 % of known robots are recognised', (t) => {
    const crawlers = require('crawler-user-agents') as { instances: string[] }[];
    const agents = [...new Set(crawlers.flatMap(({ instances }) => instances))].filter((text) => text !== '');
    const missed = agents.filter((agent) => !isRobotAgent(agent));
    const recall = 1 - missed.length / agents.length;
    t.diagnostic(`robots: ${agents.length}, recognised ${(100 * recall).toFixed(2)} %`);
    for (const agent of missed.slice(0, 5)) t.diagnostic(`missed: ${agent}`);
    assert.ok(agents.length > 1_000);
    assert.ok(recall >= 0.98, `recall ${recall}`);
  });

  test('at least 99.5 % of people count as people', (t) => {
    const file = join(dirname(require.resolve('user-agents')), 'user-agents.json');
    const people = JSON.parse(readFileSync(file, 'utf8')) as { userAgent: string }[];
    const agents = [...new Set(people.map(({ userAgent }) => userAgent))];
    const refused = agents.filter(isRobotAgent);
    const kept = 1 - refused.length / agents.length;
    t.diagnostic(`people: ${agents.length}, kept ${(100 * kept).toFixed(2)} %`);
    for (const agent of refused.slice(0, 5)) t.diagnostic(`taken for a robot: ${agent}`);
    assert.ok(agents.length > 500);
    assert.ok(kept >= 0.995, `kept ${kept}`);
  });

  const ROBOTS = [
    'curl/8.5.0',
    'Wget/1.21',
    'python-requests/2.32',
    'node',
    'node-fetch/1.0',
    'axios/1.7.2',
    'Ruby',
    'Go-http-client/2.0',
    'facebookexternalhit/1.1',
    'meta-externalagent/1.1',
    'WhatsApp/2.24.1 A',
    'SkypeUriPreview Preview/0.5',
    'Mozilla/5.0 (compatible; Embedly/0.2)',
    'Iframely/1.3.1',
    'Tumblr/14.0',
    'vkShare',
    'Bluesky Cardyb/1.1',
    'Quora Link Preview/1.0',
    'ChatGPT-User/1.0',
    'anthropic-ai',
    'Claude-Web/1.0',
    'PerplexityBot/1.0',
    'DuckDuckBot/1.1',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/138.0.0.0 Safari/537.36',
  ];
  for (const agent of ROBOTS) test(`${agent} is a robot`, () => assert.equal(isRobotAgent(agent), true));

  const PEOPLE = [
    CHROME,
    'Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/UD1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/138.0.0.0 Mobile Safari/537.36 Google/google',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [FBAN/FBIOS;FBAV/470.0]',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Instagram 330.0',
    '',
  ];
  for (const agent of PEOPLE)
    test(`${agent || 'no name'} is a person`, () => assert.equal(isRobotAgent(agent), false));

  const REQUESTS: [
    name: string,
    method: string,
    headers: Record<string, string>,
    query: string,
    expected: boolean,
  ][] = [
    ['a browser', 'GET', {}, '', false],
    ['HEAD', 'HEAD', {}, '', true],
    ['bot=1', 'GET', {}, 'bot=1', true],
    ['bot=', 'GET', {}, 'bot=', false],
    ['a prefetch', 'GET', { 'sec-purpose': 'prefetch;prerender' }, '', true],
    ['an old prefetch', 'GET', { purpose: 'prefetch' }, '', true],
    ['a preview', 'GET', { 'x-purpose': 'preview' }, '', true],
    ['an old Firefox prefetch', 'GET', { 'x-moz': 'prefetch' }, '', true],
  ];
  for (const [name, method, headers, query, expected] of REQUESTS) {
    test(`${name} is ${expected ? 'not ' : ''}a visit to count`, () => {
      const search = query ? new URLSearchParams(query) : NO_QUERY;
      assert.equal(isRobot(method, { 'user-agent': CHROME, ...headers }, search), expected);
    });
  }
});

test('the system is read from the name of the browser', () => {
  assert.equal(systemOf('Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X)'), 'ios');
  assert.equal(systemOf('Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X)'), 'ios');
  assert.equal(systemOf('Mozilla/5.0 (Linux; Android 14; Pixel 8)'), 'android');
  assert.equal(
    systemOf('Mozilla/5.0 (Windows Phone 10.0; Android 6.0.1; Microsoft; Lumia 950) like iPhone'),
    'other',
  );
  assert.equal(systemOf(CHROME), 'other');
});

test('cookies are read leniently, and the first of a name counts', () => {
  const cookies = readCookies('a=1; b=%F0%9F%9A%80;c=%; =x; d ; a=2;e=x=y');
  assert.deepEqual(
    [...cookies],
    [
      ['a', '1'],
      ['b', '🚀'],
      ['c', '%'],
      ['', 'x'],
      ['e', 'x=y'],
    ],
  );
});
