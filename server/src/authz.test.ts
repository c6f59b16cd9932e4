// Every operation × every kind of actor. Operations are taken from the list itself, so a new one is tested as
// soon as it exists; what is allowed is written down here a second time, from the documented tables.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Operation, PLANS, type Plan, planIncludes, ROLES, type Role } from './http/operation.ts';
import { ERROR_STATUS } from './kernel/errors.ts';
import { allOperations } from './operations.ts';
import { openTestApp, type TestApp, type TestReply, type TestWorkspace } from './testing/test-app.ts';
import {
  keyFor,
  missingRequests,
  NEVER_GRANTED,
  SIGNED,
  type ValidRequest,
  validRequest,
} from './testing/valid-requests.ts';

const OWNER_ONLY = [
  'workspaces.write',
  'domains.write',
  'tokens.write',
  'webhooks.write',
  'oauth_apps.write',
];
const PAYERS = ['payouts.write', 'billing.write'];
const READABLE = [
  'links',
  'tags',
  'folders',
  'domains',
  'analytics',
  'workspaces',
  'webhooks',
  'groups',
  'programs',
  'partners',
];
const WRITABLE = [
  'links',
  'tags',
  'folders',
  'groups',
  'programs',
  'partners',
  'domains',
  'workspaces',
  'webhooks',
];
const APIS = [
  'links',
  'tags',
  'folders',
  'domains',
  'workspaces',
  'analytics',
  'groups',
  'programs',
  'partners',
];

/** The documented scopes and what each grants. */
const SCOPES: Readonly<Record<string, string[]>> = {
  ...Object.fromEntries(READABLE.map((r) => [`${r}.read`, [`${r}.read`]])),
  ...Object.fromEntries(WRITABLE.map((r) => [`${r}.write`, [`${r}.read`, `${r}.write`]])),
  'apis.read': APIS.map((r) => `${r}.read`),
  'apis.all': APIS.flatMap((r) => (r === 'analytics' ? [`${r}.read`] : [`${r}.read`, `${r}.write`])),
};

function roleMay(role: Role, { access }: Operation): boolean {
  if (access.by !== 'key') return true;
  if (access.roles && !access.roles.includes(role)) return false;
  const { permission } = access;
  if (role === 'owner' || !permission || permission.endsWith('.read')) return true;
  if (PAYERS.includes(permission)) return role === 'billing';
  return role === 'member' && !OWNER_ONLY.includes(permission);
}

function scopeMay(scope: string, { access }: Operation): boolean {
  return access.by !== 'key' || !access.permission || (SCOPES[scope] as string[]).includes(access.permission);
}

const tried = { cases: 0, refused: 0 };

function assertRefused(reply: TestReply, status: number, content: readonly string[], what: string): void {
  tried.cases += 1;
  assert.equal(reply.status, status, `${what}: ${reply.text}`);
  const { error, ...rest } = reply.json;
  assert.deepEqual(rest, {}, what);
  assert.equal(ERROR_STATUS[error.code as keyof typeof ERROR_STATUS], status, what);
  for (const secret of content)
    assert.ok(!reply.text.includes(secret), `${what} shows ${secret}: ${reply.text}`);
  tried.refused += 1;
}

function assertSuccess(reply: TestReply, operation: Operation, what: string): void {
  tried.cases += 1;
  assert.equal(reply.status, operation.response.status, `${what}: ${reply.text}`);
}

const methodsOf = (operation: Operation) => [operation.method, ...(operation.aliases ?? [])];

let t: TestApp;
let operations: Operation[];
/** Those that pages call, with another kind of key. */
let pageOperations: Operation[];
/** Those that partners call, with a token of their own. */
let partnerOperations: Operation[];
let home: TestWorkspace;
before(async () => {
  t = await openTestApp();
  // For questions about events alone: nothing is told to receivers while their state is compared.
  t.app.events.pipeline.start();
  const all = allOperations(t.app.services).filter(({ id }) => !SIGNED.has(id));
  operations = all.filter(({ access }) => access.by === 'key' || access.by === 'nobody');
  pageOperations = all.filter(({ access }) => access.by === 'publishable_key');
  partnerOperations = all.filter(({ access }) => access.by === 'embed_token');
  home = await t.workspace();
});
after(() => t.close());

/** Sends refused requests at resources of the home workspace and sees that nothing came of them. */
async function expectRefusals(
  attempt: (operation: Operation, request: ValidRequest, method: string) => Promise<void>,
) {
  for (const operation of operations) {
    if (operation.access.by === 'nobody') continue;
    const request = await validRequest(t, home, operation);
    const before = await stateOf(operation, request);
    for (const method of methodsOf(operation)) await attempt(operation, request, method);
    assert.equal(
      await stateOf(operation, request),
      before,
      `${operation.id} changed something though it refused`,
    );
  }
}

async function stateOf({ path }: Operation, request: ValidRequest): Promise<string> {
  if (request.resources.length > 0)
    return (await Promise.all(request.resources.map((r) => r.snapshot()))).join();
  const list = operations.find((other) => other.method === 'GET' && other.path === path);
  if (!list || list.throttle) return '';
  const reply = await t.request('GET', path, { key: home.key });
  if (list.response.contentTypes) return reply.text;
  const items: object[] = [reply.json].flat();
  // Any use of a key notes its time, and some lists are sorted by it.
  return items
    .map((item) => JSON.stringify({ ...item, lastUsed: undefined }))
    .sort()
    .join();
}

const contentOf = (request: ValidRequest) => request.resources.flatMap((resource) => resource.content);

describe('authorisation of every operation', () => {
  test('every operation has a valid request to try', () => {
    const missing = missingRequests([...operations, ...pageOperations, ...partnerOperations]);
    assert.deepEqual(missing, [], `Add to server/src/testing/valid-requests.ts:\n  ${missing.join('\n  ')}`);
  });

  test('without a key, with another scheme or a malformed header it is 401', async () => {
    const basic = `Basic ${Buffer.from(`user:${home.key}`).toString('base64')}`;
    const headers = [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      home.key,
      basic,
      `Bearer ${home.key} more`,
      `Token ${home.key}`,
    ];
    await expectRefusals(async (operation, request, method) => {
      for (const Authorization of headers) {
        const options = {
          body: bodyFor(method, request),
          ...(Authorization !== undefined && { headers: { Authorization } }),
        };
        const reply = await t.request(method, request.path, options);
        assertRefused(
          reply,
          401,
          contentOf(request),
          `${method} ${operation.path} with Authorization "${Authorization}"`,
        );
      }
    });
  });

  test('with an unknown, revoked, expired or publishable key it is 401', async () => {
    const revoked = await home.newKey();
    const expired = await home.newKey({ expiresAt: t.clock.now() + 1 });
    t.clock.advance(1);
    const published = 'lt_pk_0123456789abcdefABCDEF';
    await t.request('PATCH', `/workspaces/${home.id}`, {
      key: home.key,
      body: { publishableKey: published },
    });
    const [mine] = (
      await t.request('GET', '/tokens?sortBy=createdAt&pageSize=2', { key: home.key })
    ).json.slice(1);
    assert.equal((await t.request('DELETE', `/tokens/${mine.id}`, { key: revoked })).status, 200);
    const keys = {
      unknown: 'lt_000000000000000000000000',
      revoked,
      expired,
      published,
      upperCase: home.key.toUpperCase(),
    };
    await expectRefusals(async (operation, request, method) => {
      for (const [kind, key] of Object.entries(keys)) {
        const reply = await t.request(method, request.path, { key, body: bodyFor(method, request) });
        assertRefused(
          reply,
          401,
          contentOf(request),
          `${method} ${operation.path} with a key that is ${kind}`,
        );
      }
    });
  });

  test('with a role that may not it is 403, with one that may it succeeds', async () => {
    const keys = new Map(
      await Promise.all(ROLES.map(async (role) => [role, await home.newKey({ role })] as const)),
    );
    await expectRefusals(async (operation, request, method) => {
      for (const [role, key] of keys) {
        if (roleMay(role, operation)) continue;
        const reply = await t.request(method, request.path, { key, body: bodyFor(method, request) });
        assertRefused(reply, 403, contentOf(request), `${method} ${operation.path} as ${role}`);
      }
    });
    for (const operation of operations) {
      for (const role of ROLES.filter((name) => roleMay(name, operation))) {
        await expectSuccess(operation, home, keys.get(role) as string, `as ${role}`);
      }
    }
  });

  test('with a scope that does not grant it it is 403, with one that does it succeeds', async () => {
    const scopes = Object.keys(SCOPES);
    const keys = new Map(
      await Promise.all(scopes.map(async (s) => [s, await home.newKey({ scopes: [s] })] as const)),
    );
    await expectRefusals(async (operation, request, method) => {
      for (const [scope, key] of keys) {
        if (scopeMay(scope, operation)) continue;
        const reply = await t.request(method, request.path, { key, body: bodyFor(method, request) });
        assertRefused(reply, 403, contentOf(request), `${method} ${operation.path} with the scope ${scope}`);
      }
    });
    for (const operation of operations) {
      const workspace = await t.workspace();
      for (const scope of scopes.filter((name) => scopeMay(name, operation)).slice(0, 3)) {
        const key = await workspace.newKey({ scopes: [scope] });
        await expectSuccess(operation, workspace, key, `with the scope ${scope}`);
      }
    }
  });

  test('on a plan that is too low it is 403, on the lowest that includes it it succeeds', async () => {
    for (const plan of PLANS) {
      const workspace = await t.workspace(plan);
      for (const operation of operations) {
        // A window of its own for each: the lowest plan has few requests in one.
        t.clock.advance(60_000);
        const minimum = operation.access.by === 'key' ? (operation.access.plan ?? 'free') : 'free';
        if (planIncludes(plan, minimum)) {
          if (plan === minimum)
            await expectSuccess(operation, workspace, workspace.key, `on the plan ${plan}`);
          continue;
        }
        // The resource stands in another workspace: the plan is looked at before it.
        const request = await validRequest(t, home, operation);
        const reply = await t.request(operation.method, request.path, {
          key: workspace.key,
          body: request.body,
        });
        assertRefused(reply, 403, contentOf(request), `${operation.id} on the plan ${plan}`);
        assert.match(reply.json.error.message, /plan/);
      }
    }
  });

  test('with a key of another workspace a resource in the path is 403 and shows nothing of itself', async () => {
    const other = await t.workspace();
    const machine = await other.newKey({ isMachine: true });
    await expectRefusals(async (operation, request, method) => {
      if (request.resources.length === 0) return;
      for (const key of [other.key, machine]) {
        const reply = await t.request(method, request.path, { key, body: bodyFor(method, request) });
        assertRefused(reply, 403, contentOf(request), `${method} ${operation.path} from another workspace`);
      }
    });
  });

  test('an id that nobody has is 404', async () => {
    await expectRefusals(async (_operation, request, method) => {
      if (request.unknownPath === undefined) return;
      const reply = await t.request(method, request.unknownPath, {
        key: home.key,
        body: bodyFor(method, request),
      });
      assertRefused(reply, 404, [], `${method} ${request.unknownPath}`);
    });
  });

  test('operations for pages take the publishable key of the workspace, its plan permitting, and no other key', async () => {
    assert.notEqual(pageOperations.length, 0);
    // One that lets every site call.
    const own = await t.workspace();
    for (const operation of pageOperations) {
      const { body } = await validRequest(t, own, operation);
      const published = await keyFor(t, own, operation);
      const ask = (key: string | undefined) => t.request(operation.method, operation.path, { key, body });
      for (const key of [undefined, own.key, 'lt_pk_0000000000000000', published.toUpperCase()])
        assertRefused(await ask(key), 401, [], `${operation.id} with ${key}`);
      assertSuccess(await ask(published), operation, `${operation.id} with the publishable key`);
      await t.app.services.workspaces.update(own.actor, own.id, { publishableKey: null });
      assertRefused(await ask(published), 401, [], `${operation.id} with a key that was taken back`);
      const { plan: minimum = 'free' } = operation.access as { plan?: Plan };
      for (const plan of PLANS) {
        const workspace = await t.workspace(plan);
        const key = await keyFor(t, workspace, operation);
        const reply = await t.request(operation.method, operation.path, {
          key,
          body: (await validRequest(t, workspace, operation)).body,
        });
        if (planIncludes(plan, minimum)) assertSuccess(reply, operation, `${operation.id} on ${plan}`);
        else assertRefused(reply, 403, [], `${operation.id} on ${plan}`);
      }
    }
  });

  test('operations for partners take the token of a partner for what is its own, its workspace’s plan permitting, and no key', async () => {
    assert.notEqual(partnerOperations.length, 0);
    for (const operation of partnerOperations) {
      const { method } = operation;
      const workspace = await t.workspace();
      const token = await keyFor(t, workspace, operation);
      const other = await t.workspace();
      const others = await keyFor(t, other, operation);
      const request = await validRequest(t, workspace, operation);
      const ask = (key: string | undefined, path = request.path) =>
        t.request(method, path, { key, body: bodyFor(method, request) });
      const before = await Promise.all(request.resources.map((resource) => resource.snapshot()));
      const published = `lt_pk_${workspace.id}`;
      await t.app.services.workspaces.update(workspace.actor, workspace.id, { publishableKey: published });
      for (const key of [undefined, workspace.key, published, 'lt_embed_0000', token.toUpperCase()])
        assertRefused(await ask(key), 401, [], `${operation.id} with ${key}`);
      if (request.resources.length > 0) {
        assertRefused(await ask(others), 404, [], `${operation.id} with a token of another program`);
        assertRefused(await ask(token, request.unknownPath), 404, [], `${operation.id} of an unknown id`);
      }
      assert.deepEqual(await Promise.all(request.resources.map((r) => r.snapshot())), before, operation.id);
      assertSuccess(await ask(token), operation, `${operation.id} with a token`);
      await t.app.services.workspaces.setPlan(workspace.id, 'business');
      assertRefused(await ask(token), 403, [], `${operation.id} on the plan business`);
      await t.app.services.workspaces.setPlan(workspace.id, 'advanced');
      t.clock.advance(3 * 3_600_000);
      assertRefused(await ask(token), 401, [], `${operation.id} with an expired token`);
    }
  });

  test('the owner and the owner’s machine user succeed', async (context) => {
    const workspace = await t.workspace();
    const machine = await workspace.newKey({ isMachine: true });
    for (const operation of operations) {
      await expectSuccess(operation, workspace, workspace.key, 'as the owner');
      await expectSuccess(operation, workspace, machine, 'as a machine user');
    }
    context.diagnostic(
      `${operations.length} operations, ${tried.cases} cases tried, ${tried.refused} refused as documented`,
    );
    assert.ok(tried.refused > operations.length * 10);
  });
});

async function expectSuccess(
  operation: Operation,
  workspace: TestWorkspace,
  key: string,
  what: string,
): Promise<void> {
  for (const method of methodsOf(operation)) {
    const request = await validRequest(t, workspace, operation);
    // A new window for operations that count by address.
    t.clock.advance(60_000);
    const reply = await t.request(method, request.path, { key, body: bodyFor(method, request) });
    if (NEVER_GRANTED.has(operation.id)) assertRefused(reply, 403, [], `${method} ${operation.path} ${what}`);
    else assertSuccess(reply, operation, `${method} ${operation.path} ${what}`);
  }
}

function bodyFor(method: string, request: ValidRequest): unknown {
  return method === 'GET' || method === 'DELETE' ? undefined : request.body;
}
