// A real process that appends and reports what was acknowledged is killed at a random moment, again and again
// on the same files: nothing acknowledged may be missing, doubled or out of order.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../kernel/clock.ts';
import { silentLog } from '../kernel/log.ts';
import { openFileJournal } from './file-journal.ts';
import { createFileReader } from './file-reader.ts';
import { createChance, readAll, textsOf } from './journal.contract.ts';
import { openJournalDirectory } from './journal-files.ts';

const ROUNDS = 50;
const BUDGET_MS = 4_000;

async function openAt(path: string) {
  const directory = await openJournalDirectory(path);
  return openFileJournal({
    directory,
    clock: systemClock,
    log: silentLog,
    segmentBytes: 20_000,
    syncIntervalMs: 5,
  });
}

/** The process that gets killed: appends in turns of several records and prints each after its append. */
async function appendForEver(path: string, round: string): Promise<never> {
  const journal = await openAt(path);
  for (let n = 0; ; ) {
    const turn = Array.from({ length: 1 + (n % 7) }, () => n++);
    const payload = (i: number) => Buffer.from(`${round}:${i}:${'x'.repeat((i * 37) % 300)}`);
    const stored = await Promise.all(turn.map((i) => journal.append(payload(i))));
    if (stored.includes(false)) process.exit(1);
    const lines = turn.map((i) => `${i}\n`).join('');
    await new Promise((resolve) => process.stdout.write(lines, resolve));
  }
}

/** Kills after that many acknowledged records were seen; returns all that were acknowledged in the end. */
async function killAfter(path: string, round: number, records: number): Promise<number> {
  const args = ['--disable-warning=ExperimentalWarning', import.meta.filename, 'append', path, String(round)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let lines = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    lines += chunk.filter((byte) => byte === 10).length;
    if (lines >= records) child.kill('SIGKILL');
  });
  const [code, signal] = await once(child, 'close');
  assert.deepEqual([code, signal], [null, 'SIGKILL']);
  return lines;
}

async function crashRounds(path: string): Promise<number> {
  const chance = createChance(Date.now());
  const startMs = performance.now();
  let round = 0;
  for (; round < ROUNDS && performance.now() - startMs < BUDGET_MS; round++) {
    const acknowledged = await killAfter(path, round, 1 + Math.floor(chance() * 600));
    const journal = await openAt(path);
    const reader = createFileReader({ path, onDamage: (damage) => assert.fail(JSON.stringify(damage)) });
    const records = await readAll(reader);
    const numbers = textsOf(records).map((text) => text.split(':').slice(0, 2).map(Number));
    const indexes = numbers.filter(([of]) => of === round).map(([, index]) => index);
    assert.deepEqual(
      indexes,
      Array.from({ length: indexes.length }, (_, n) => n),
    );
    assert.ok(indexes.length >= acknowledged, `${indexes.length} of ${acknowledged} are there`);
    const last = records.at(-1);
    if (round % 3 === 2 && last) await journal.release(last.position);
    await journal.close();
  }
  return round;
}

if (process.argv[2] === 'append') {
  await appendForEver(process.argv[3] ?? '', process.argv[4] ?? '');
} else {
  test('every acknowledged record survives kill -9, exactly once and in order', async (t) => {
    const path = await mkdtemp(join(tmpdir(), 'linktrail-crash-'));
    t.after(() => rm(path, { recursive: true }));
    const rounds = await crashRounds(path);
    t.diagnostic(`killed ${rounds} times`);
    assert.ok(rounds >= 1);
  });
}
