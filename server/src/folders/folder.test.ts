import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PLANS, ROLES } from '../http/operation.ts';
import { type AccessLevel, type FolderNeed, type FolderRole, mayIn } from './folder.ts';

const NEEDS: readonly FolderNeed[] = ['read', 'write', 'manage'];

/** What a member of a business workspace may do, as a string of first letters. */
const TABLE: [personal: FolderRole | undefined, accessLevel: AccessLevel, may: string][] = [
  ['owner', 'write', 'rwm'],
  ['owner', 'read', 'rwm'],
  ['owner', null, 'rwm'],
  ['editor', 'write', 'rw'],
  ['editor', 'read', 'rw'],
  ['editor', null, 'rw'],
  ['viewer', 'write', 'r'],
  ['viewer', 'read', 'r'],
  ['viewer', null, 'r'],
  [undefined, 'write', 'rw'],
  [undefined, 'read', 'r'],
  [undefined, null, ''],
];

const mayOf = (
  actor: Parameters<typeof mayIn>[0],
  accessLevel: AccessLevel,
  personal: FolderRole | undefined,
) =>
  NEEDS.filter((need) => mayIn(actor, { accessLevel, personal }, need))
    .map((need) => need[0])
    .join('');

describe('rights in a folder', () => {
  for (const [personal, accessLevel, may] of TABLE) {
    test(`personal role ${personal ?? 'none'}, access level ${accessLevel}: ${may || 'nothing'}`, () => {
      for (const role of ROLES.filter((name) => name !== 'owner')) {
        for (const plan of ['business', 'advanced', 'enterprise'] as const) {
          assert.equal(mayOf({ role, plan }, accessLevel, personal), may, `${role} on ${plan}`);
        }
      }
    });
  }

  test('workspace owners may do everything on every plan', () => {
    for (const plan of PLANS) assert.equal(mayOf({ role: 'owner', plan }, null, 'viewer'), 'rwm', plan);
  });

  test('below the business plan everybody may do everything', () => {
    for (const plan of ['free', 'pro'] as const) {
      for (const role of ROLES)
        assert.equal(mayOf({ role, plan }, null, undefined), 'rwm', `${role} on ${plan}`);
    }
  });
});
