import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ROLES } from '../http/operation.ts';
import { effectivePermissions, findScopeBeyond, SCOPE_NAMES } from './rights.ts';

const EVERYBODY = ['owner', 'member', 'viewer', 'billing'];
const EDITORS = ['owner', 'member'];

/** Which roles may put a scope on a key, as documented. */
const PICKABLE: Readonly<Record<string, string[]>> = {
  'links.read': EVERYBODY,
  'tags.read': EVERYBODY,
  'folders.read': EVERYBODY,
  'domains.read': EVERYBODY,
  'analytics.read': EVERYBODY,
  'workspaces.read': EVERYBODY,
  'webhooks.read': EVERYBODY,
  'groups.read': EVERYBODY,
  'programs.read': EVERYBODY,
  'partners.read': EVERYBODY,
  'links.write': EDITORS,
  'tags.write': EDITORS,
  'folders.write': EDITORS,
  'groups.write': EDITORS,
  'programs.write': EDITORS,
  'partners.write': EDITORS,
  'domains.write': ['owner'],
  'workspaces.write': ['owner'],
  'webhooks.write': ['owner'],
  'apis.read': EVERYBODY,
  'apis.all': EDITORS,
};

describe('scopes', () => {
  test('are the documented ones', () =>
    assert.deepEqual([...SCOPE_NAMES].sort(), Object.keys(PICKABLE).sort()));

  for (const [scope, roles] of Object.entries(PICKABLE)) {
    test(`${scope} is for ${roles.join(', ')}`, () => {
      for (const role of ROLES) {
        const beyond = findScopeBeyond(role, ['links.read', scope]);
        assert.equal(beyond, roles.includes(role) ? undefined : scope, role);
      }
    });
  }

  test('none means all the rights of the role', () => {
    assert.ok(effectivePermissions('owner', []).has('tokens.write'));
    assert.ok(!effectivePermissions('member', []).has('tokens.write'));
    assert.ok(effectivePermissions('member', []).has('links.write'));
    assert.ok(effectivePermissions('billing', []).has('payouts.write'));
    assert.ok(!effectivePermissions('billing', []).has('links.write'));
    assert.ok(effectivePermissions('viewer', []).has('tokens.read'));
  });

  test('never add to the role, and never grant keys or webhooks by apis.all', () => {
    assert.deepEqual([...effectivePermissions('viewer', ['links.write'])], ['links.read']);
    const all = effectivePermissions('owner', ['apis.all']);
    for (const denied of [
      'tokens.read',
      'tokens.write',
      'webhooks.read',
      'webhooks.write',
      'payouts.write',
    ]) {
      assert.ok(!all.has(denied), denied);
    }
  });

  test('that are unknown, as an import may bring, grant nothing', () => {
    assert.equal(effectivePermissions('owner', ['no.such', 'constructor']).size, 0);
  });
});
