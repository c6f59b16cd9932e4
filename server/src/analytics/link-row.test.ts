import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linkRow } from '../testing/click-records.ts';
import { latestRows, readLinkChanges } from './link-row.ts';

const change = (type: string, payload: unknown) => ({
  outboxId: 7,
  workspaceId: 'ws_1',
  type,
  payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
  createdAtMs: 1,
});

test('a change of a link becomes its row', () => {
  const payload = {
    id: 'a',
    domain: 'd.example',
    key: '_root',
    folderId: 'f',
    tenantId: null,
    partnerId: 'p',
    tags: [{ id: 't', name: 'T' }],
    more: 1,
  };
  assert.deepEqual(readLinkChanges(change('link.updated', payload))[0], {
    id: 'a',
    workspaceId: 'ws_1',
    domain: 'd.example',
    key: '_root',
    folderId: 'f',
    tenantId: '',
    partnerId: 'p',
    programId: '',
    tagIds: ['t'],
    root: true,
    deleted: false,
    changeId: 7,
  });
  assert.equal(readLinkChanges(change('link.deleted', { id: 'a', domain: 'd', key: 'k' }))[0]?.deleted, true);
});

test('links that were imported become rows, those that cannot be read left out', () => {
  const links = [
    { id: 'a', domain: 'd', key: 'k', tags: [{ id: 't' }] },
    { id: 'b' },
    { id: 'c', domain: 'd', key: 'l' },
  ];
  const rows = readLinkChanges(change('links.imported', { links }));
  assert.deepEqual(
    rows.map(({ id, tagIds, deleted, changeId }) => [id, tagIds, deleted, changeId]),
    [
      ['a', ['t'], false, 7],
      ['c', [], false, 7],
    ],
  );
  assert.deepEqual(readLinkChanges(change('links.imported', {})), []);
});

test('other changes and what cannot be read are no rows', () => {
  for (const [type, payload] of [
    ['tag.created', { id: 'a', domain: 'd', key: 'k' }],
    ['link.created', 'not json'],
    ['link.created', { id: 1 }],
    ['link.created', null],
  ] as const) {
    assert.deepEqual(readLinkChanges(change(type, payload)), []);
  }
});

test('of several changes of a link the latest counts', () => {
  const rows = [
    linkRow('a', { changeId: 2 }),
    linkRow('b', { changeId: 3 }),
    linkRow('a', { changeId: 5 }),
    linkRow('a', { changeId: 4 }),
  ];
  assert.deepEqual(
    latestRows(rows, ({ id }) => id).map(({ id, changeId }) => [id, changeId]),
    [
      ['a', 5],
      ['b', 3],
    ],
  );
});
