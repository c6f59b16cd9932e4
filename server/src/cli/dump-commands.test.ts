// Export and import as people run them: real processes, with and without a server, files and pipes, and
// interruptions of every kind.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { fullRecords, type Line, parseDump, toDump } from '../testing/dumps.ts';
import {
  type Finished,
  makePlace,
  type Place,
  runCli,
  startCli,
  startServer,
  untilLocked,
} from '../testing/processes.ts';

const WORKSPACE = 'clx1workspace';
/** The header, and a line for each record. */
const FULL_LINES = fullRecords().length + 1;
const body = (text: string): string => text.slice(text.indexOf('\n') + 1);

function linkLines(count: number): Line[] {
  return Array.from({ length: count }, (_, i) => ({
    type: 'link',
    id: `link_${String(i).padStart(6, '0')}`,
    workspaceId: WORKSPACE,
    key: `k${i}`,
    url: `https://example.com/${i}`,
    tagIds: i % 3 === 0 ? ['cltag1'] : [],
    createdAt: '2024-02-03T04:05:06.007Z',
  }));
}

function writeDump(place: Place, lines: readonly Line[], name = 'dump.ndjson'): string {
  const path = join(place.folder, name);
  const text = toDump(lines);
  writeFileSync(path, name.endsWith('.gz') ? gzipSync(text) : text);
  return path;
}

async function ok(running: Promise<Finished>): Promise<Finished> {
  const finished = await running;
  assert.equal(finished.code, 0, finished.stderr);
  return finished;
}

async function exported(place: Place): Promise<string> {
  return (await ok(runCli(place, ['export']))).stdout;
}

/** A place whose data came in without a server. */
async function filledPlace(t: TestContext, lines: readonly Line[]): Promise<Place> {
  const place = await makePlace(t);
  await ok(runCli(place, ['import', writeDump(place, lines)]));
  return place;
}

describe('without a server', () => {
  test('an import makes the data directory, and the server then starts with what came in', async (t) => {
    const records = fullRecords().map(({ hashedKey, partialKey: _, scopes: __, ...line }) =>
      hashedKey ? { ...line, key: 'dub_from-elsewhere' } : line,
    );
    const place = await filledPlace(t, [...records, ...linkLines(10)]);
    const server = await startServer(t, place);
    assert.doesNotMatch(server.banner, /First workspace/);
    const reply = await fetch(`${server.url}/api/links/info?domain=localhost&key=k5`, {
      headers: { Authorization: 'Bearer dub_from-elsewhere' },
    });
    assert.equal(((await reply.json()) as { url: string }).url, 'https://example.com/5');
  });

  test('an export is a file for its owner only, and leaves no half of one behind', async (t) => {
    const place = await filledPlace(t, fullRecords());
    const path = join(place.folder, 'out.ndjson');
    const { stdout } = await ok(runCli(place, ['export', '--out', path, '--workspace', 'acme']));
    assert.match(stdout, /^Exported .*1 workspace, .*1 link[,.].*\n$/);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.ok(!existsSync(`${path}.part`));
    assert.deepEqual(parseDump(readFileSync(path, 'utf8')).slice(1, -1), fullRecords());
    const failed = await runCli(place, ['export', '--out', path, '--workspace', 'nowhere']);
    assert.equal(failed.code, 1);
    assert.ok(!existsSync(`${path}.part`));
    assert.equal(parseDump(readFileSync(path, 'utf8')).length, fullRecords().length + 2);
  });

  test('names that end in .gz are compressed, both ways; a damaged file is told', async (t) => {
    const place = await makePlace(t);
    const path = writeDump(place, fullRecords(), 'dump.ndjson.gz');
    await ok(runCli(place, ['import', path]));
    const out = join(place.folder, 'out.gz');
    await ok(runCli(place, ['export', '--out', out]));
    assert.deepEqual(parseDump(gunzipSync(readFileSync(out)).toString()).slice(1, -1), fullRecords());
    writeFileSync(path, readFileSync(path).subarray(0, 300));
    const failed = await runCli(place, ['import', path]);
    assert.equal(failed.code, 1);
    assert.match(failed.stderr, /dump.ndjson.gz is not a whole gzip file/);
  });

  test('the summary can be read by programs', async (t) => {
    const place = await filledPlace(t, fullRecords());
    const { stdout } = await ok(runCli(place, ['import', writeDump(place, fullRecords()), '--json']));
    const { written, unchanged, rejected } = JSON.parse(stdout);
    assert.deepEqual([written, unchanged.link, rejected], [{}, 1, 0]);
  });

  test('lines that cannot be taken go to a file of their own', async (t) => {
    const place = await makePlace(t);
    const wrong = { ...linkLines(1)[0], id: 'bad', folderId: 'nowhere' };
    const path = writeDump(place, [...fullRecords(), wrong, ...linkLines(3)]);
    const rejects = join(place.folder, 'rejects.ndjson');
    const { code, stdout } = await runCli(place, ['import', path, '--skip-invalid', rejects]);
    assert.equal(code, 1);
    assert.match(stdout, /Passed over 1 line that/);
    const [reject, ...more] = parseDump(readFileSync(rejects, 'utf8'));
    assert.equal(more.length, 0);
    assert.deepEqual([reject?.line, reject?.type, reject?.field], [FULL_LINES + 1, 'link', 'folderId']);
    assert.deepEqual(JSON.parse(reject?.text as string), wrong);
    assert.match(await exported(place), /link_000002/);
  });

  test('a file that is not there is told', async (t) => {
    const place = await makePlace(t);
    const { code, stderr } = await runCli(place, ['import', 'missing.ndjson']);
    assert.deepEqual([code, stderr], [1, 'linktrail: There is no file missing.ndjson.\n']);
    assert.ok(!existsSync(place.dataDir));
  });
});

describe('an import from another service', () => {
  test('takes the key from a file or standard input, so that nobody sees it among the arguments', async (t) => {
    const theirs = await startServer(t, await makePlace(t));
    const key = /API key: (\S+)/.exec(theirs.banner)?.[1] ?? '';
    await fetch(`${theirs.url}/api/tags`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: '{"name":"Theirs"}',
    });
    const place = await makePlace(t);
    const server = await startServer(t, place);
    const path = join(place.folder, 'key.txt');
    writeFileSync(path, `${key}\n`);
    const words = ['import', 'dub', '--workspace', 'main', '--server', `${theirs.url}/api`];
    assert.match((await ok(runCli(place, [...words, '--token-file', path]))).stdout, /^Imported 1 tag\.\n$/);
    server.kill('SIGTERM');
    await server.finished;
    const piped = startCli(t, place, [...words, '--token-file', '-']);
    piped.stdin.end(key);
    assert.match((await ok(piped.finished)).stdout, /^Imported nothing\.\nUnchanged: 1 tag\.\n$/);
    assert.match((await ok(runCli(place, [...words, '--token', key]))).stdout, /Unchanged: 1 tag/);

    const refusals: [string[], RegExp][] = [
      [[], /Give either --token or --token-file/],
      [['--token', key, '--token-file', path], /Give either --token or --token-file/],
      [['--token-file', writeDump(place, [])], /--token-file: takes a file with nothing but the key/],
    ];
    for (const [more, reason] of refusals) {
      const { code, stderr } = await runCli(place, [...words, ...more]);
      assert.equal(code, 1);
      assert.match(stderr, reason);
    }
  });
});

describe('beside a running server', () => {
  test('a dump goes in through standard input and out through standard output', async (t) => {
    const place = await makePlace(t);
    await startServer(t, place);
    const lines = [...fullRecords(), ...linkLines(2_000)];
    const importing = startCli(t, place, ['import', '-']);
    importing.stdin.end(toDump(lines));
    const { stdout } = await ok(importing.finished);
    assert.match(stdout, /2,001 links\b/);
    const ours = parseDump((await ok(runCli(place, ['export', '--workspace', 'acme']))).stdout).slice(1, -1);
    assert.equal(ours.length, lines.length);
  });

  test('the first bad line ends a long upload with its reason', async (t) => {
    const place = await makePlace(t);
    await startServer(t, place);
    const path = writeDump(place, [...fullRecords(), { type: 'planet' }, ...linkLines(60_000)]);
    const { code, stderr } = await runCli(place, ['import', path]);
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`Line ${FULL_LINES + 1} \\(planet\\) field type: must be one of`));
  });

  test('a caller that is killed leaves whole batches; a repeat goes on', async (t) => {
    const place = await makePlace(t);
    await startServer(t, place);
    const text = toDump([...fullRecords(), ...linkLines(2_000)]);
    const importing = startCli(t, place, ['import', '-']);
    importing.stdin.write(text.slice(0, text.length / 2));
    const seen = await untilImported(place);
    importing.kill('SIGKILL');
    await importing.finished;
    assert.ok(seen > 0);
    const again = startCli(t, place, ['import', '-']);
    again.stdin.end(text);
    const { stdout } = await ok(again.finished);
    assert.match(stdout, /^Went on where the last run was interrupted/);
    const links = parseDump((await ok(runCli(place, ['export', '--workspace', 'acme']))).stdout);
    assert.equal(links.filter(({ type }) => type === 'link').length, 2_001);
  });
});

/** How many links there are, once there are some. */
async function untilImported(place: Place): Promise<number> {
  for (;;) {
    const { code, stdout } = await runCli(place, ['export', '--workspace', 'acme']);
    const links = code === 0 ? parseDump(stdout).filter(({ type }) => type === 'link').length : 0;
    if (links > 1) return links;
  }
}

describe('an import that is interrupted', () => {
  test('by kill -9, at any point and again and again, is completed by a repeat', async (t) => {
    const lines = [...fullRecords(), ...linkLines(3_000)];
    const whole = await exported(await filledPlace(t, lines));
    const place = await makePlace(t);
    const path = writeDump(place, lines);
    for (let round = 0; round < 4; round++) {
      const importing = startCli(t, place, ['import', path]);
      const kill = setTimeout(() => importing.kill('SIGKILL'), 300 + Math.random() * 1_500);
      await importing.finished;
      clearTimeout(kill);
    }
    await ok(runCli(place, ['import', path]));
    assert.ok(body(await exported(place)) === body(whole), 'the copy is not the same');
  });

  test('by Ctrl-C stops in good order, and a repeat completes it', async (t) => {
    const place = await makePlace(t);
    const text = toDump([...fullRecords(), ...linkLines(2_000)]);
    const importing = startCli(t, place, ['import', '-']);
    importing.stdin.write(text.slice(0, text.length / 2));
    await untilLocked(place);
    importing.kill('SIGINT');
    importing.stdin.end(text.slice(text.length / 2));
    const { code, stderr } = await importing.finished;
    assert.deepEqual([code, stderr.includes('Stopped.')], [130, true]);
    const path = writeDump(place, [...fullRecords(), ...linkLines(2_000)]);
    await ok(runCli(place, ['import', path]));
    assert.equal(parseDump(await exported(place)).filter(({ type }) => type === 'link').length, 2_001);
  });
});
