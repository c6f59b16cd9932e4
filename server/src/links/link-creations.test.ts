import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Actor } from '../http/operation.ts';
import { AppError } from '../kernel/errors.ts';
import type { Link } from './link.ts';
import { groupCreations } from './link-creations.ts';
import type { LinkDraft } from './link-draft.ts';
import type { Outcome } from './link-writes.ts';

const actor = { tokenId: 'tok_1', role: 'owner', plan: 'pro' } as Actor;
const made = (draft: LinkDraft): Outcome => ({ link: { key: draft.key } as Link });

/** Writes that end when the test says so. */
function createWriter(write: (drafts: readonly LinkDraft[]) => Outcome[] = (drafts) => drafts.map(made)) {
  const groups: string[][] = [];
  const gates: (() => void)[] = [];
  const db = { inTransaction: false };
  const create = groupCreations(db, async (_actor, drafts) => {
    groups.push(drafts.map((draft) => draft.key as string));
    await new Promise<void>((resolve) => gates.push(resolve));
    return write(drafts);
  });
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  const finishOne = async () => {
    while (gates.length === 0) await turn();
    gates.shift()?.();
  };
  return { create, groups, finishOne, db };
}

test('what comes while a group is written goes together into the next, and each gets its own link', async () => {
  const { create, groups, finishOne } = createWriter();
  const first = create(actor, { key: 'a' });
  await new Promise<void>((resolve) => setImmediate(resolve));
  const later = ['b', 'c', 'd'].map((key) => create(actor, { key }));
  await finishOne();
  await finishOne();
  const outcomes = await Promise.all([first, ...later]);
  assert.deepEqual(groups, [['a'], ['b', 'c', 'd']]);
  assert.deepEqual(
    outcomes.map((outcome) => 'link' in outcome && outcome.link.key),
    ['a', 'b', 'c', 'd'],
  );
});

test('keys of different callers are never written together', async () => {
  const { create, groups, finishOne } = createWriter();
  const both = [create(actor, { key: 'a' }), create({ ...actor, tokenId: 'tok_2' }, { key: 'b' })];
  await finishOne();
  await finishOne();
  await Promise.all(both);
  assert.deepEqual(groups, [['a'], ['b']]);
});

test('a refusal of the whole group refuses only those that it would refuse alone', async () => {
  let room = 1;
  const { create, finishOne } = createWriter((drafts) => {
    if (drafts.length > room) throw new AppError('forbidden', 'The quota is used up.');
    room -= drafts.length;
    return drafts.map(made);
  });
  const both = ['a', 'b'].map((key) => create(actor, { key }));
  for (let i = 0; i < 3; i++) await finishOne();
  const settled = await Promise.allSettled(both);
  assert.deepEqual(
    settled.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
});

test('inside a transaction a link is created there, at once', async () => {
  const { create, groups, finishOne, db } = createWriter();
  db.inTransaction = true;
  const both = [create(actor, { key: 'a' }), create(actor, { key: 'b' })];
  assert.deepEqual(groups, [['a'], ['b']]);
  await finishOne();
  await finishOne();
  await Promise.all(both);
});
