import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { StoreBusyError } from '../db/database.ts';
import type { Plan, Role } from '../http/operation.ts';
import { AppError } from '../kernel/errors.ts';
import { eachDatabase } from '../testing/databases.ts';
import { countLinks, insertLinks } from '../testing/link-rows.ts';
import { openTestApp, type TestApp, type TestWorkspace } from '../testing/test-app.ts';

let made = 0;
const newName = () => `Folder ${++made}`;

eachDatabase('folders', (databases) => {
  let t: TestApp;
  let home: TestWorkspace;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
    home = await t.workspace();
  });
  after(() => t.close());

  const call = (method: string, path: string, body?: unknown, key = home.key) =>
    t.request(method, path, { key, body });

  async function create(body: Record<string, unknown> = {}, key = home.key) {
    const reply = await call('POST', '/folders', { name: newName(), ...body }, key);
    assert.equal(reply.status, 201, reply.text);
    return reply.json;
  }

  async function refused(
    status: number,
    method: string,
    path: string,
    body?: unknown,
    key = home.key,
    text = /./,
  ) {
    const reply = await call(method, path, body, key);
    assert.equal(reply.status, status, `${method} ${path} ${JSON.stringify(body)}: ${reply.text}`);
    assert.match(reply.json.error.message, text);
  }

  async function member(workspace: TestWorkspace, role: Role = 'member', plan: Plan = 'enterprise') {
    const { users, tokens } = t.app.services;
    const userId = await users.addMember(workspace.id, { name: `${role} ${++made}`, role });
    const { key } = await tokens.create(
      { userId, role, workspaceId: workspace.id },
      { name: 'key', scopes: [], isMachine: false, expiresAt: null },
    );
    const actor = {
      tokenId: 'token',
      userId,
      role,
      permissions: new Set<string>(),
      workspaceId: workspace.id,
      plan,
      limits: {},
    };
    return { userId, key, actor };
  }

  const names = async (query: string, key: string) =>
    (await call('GET', `/folders${query}`, undefined, key)).json.map(
      (folder: { name: string }) => folder.name,
    );

  async function eventsOf(workspaceId: string): Promise<string[]> {
    const rows = await t.app.db.query
      .selectFrom('outbox')
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .orderBy('id')
      .execute();
    return rows.map((row) => row.type);
  }

  test('a new folder has every field, open to all members by default', async () => {
    const reply = await call('POST', '/folders', { name: ' Q3 ' });
    assert.equal(reply.status, 201);
    const { id, ...rest } = reply.json;
    assert.match(id, /^fold_[0-9A-Z]{26}$/);
    const time = new Date(t.clock.now()).toISOString();
    assert.deepEqual(rest, {
      name: 'Q3',
      description: null,
      type: 'default',
      accessLevel: 'write',
      createdAt: time,
      updatedAt: time,
    });
    assert.deepEqual((await call('GET', `/folders/${id}`)).json, reply.json);
  });

  test('name, description and access level can be changed alone, and null clears', async () => {
    const { id } = await create({ description: 'Old', accessLevel: 'read' });
    const name = newName();
    assert.equal((await call('PATCH', `/folders/${id}`, { name })).json.name, name);
    const described = (await call('PATCH', `/folders/${id}`, { description: 'New' })).json;
    assert.deepEqual([described.name, described.description, described.accessLevel], [name, 'New', 'read']);
    const cleared = (await call('PATCH', `/folders/${id}`, { description: null, accessLevel: null })).json;
    assert.deepEqual([cleared.name, cleared.description, cleared.accessLevel], [name, null, null]);
  });

  test('invalid fields are refused by name', async () => {
    const { id } = await create();
    for (const [status, body, field] of [
      [400, {}, /name/],
      [400, { name: 5 }, /name/],
      [422, { name: '  ' }, /name/],
      [422, { name: 'x'.repeat(191) }, /name/],
      [422, { name: 'ok', description: 'x'.repeat(501) }, /description/],
      [422, { name: 'ok', accessLevel: 'all' }, /accessLevel/],
    ] as const) {
      await refused(status, 'POST', '/folders', body, home.key, field);
      if (Object.keys(body).length > 0)
        await refused(status, 'PATCH', `/folders/${id}`, body, home.key, field);
    }
  });

  test('a name is taken whatever its case, but not in another workspace', async () => {
    const other = await t.workspace();
    const { name } = await create({ name: `Été ${++made}` });
    await refused(409, 'POST', '/folders', { name: name.toUpperCase() });
    const mine = await create();
    await refused(409, 'PATCH', `/folders/${mine.id}`, { name: name.toLowerCase() });
    assert.equal((await call('PATCH', `/folders/${mine.id}`, { name: mine.name.toUpperCase() })).status, 200);
    await create({ name }, other.key);
  });

  test('a folder of another workspace is 403, an unknown one 404', async () => {
    const other = await t.workspace();
    const { id } = await create();
    const user = await member(other);
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { name: newName() }],
      ['DELETE', '', undefined],
      ['GET', '/users', undefined],
      ['PUT', `/users/${user.userId}`, { role: 'viewer' }],
    ] as const) {
      await refused(403, method, `/folders/${id}${path}`, body, other.key);
      await refused(404, method, `/folders/fold_unknown${path}`, body, other.key);
    }
  });

  test('plans: lists for all, folders from pro, private and read-only ones and personal roles from business', async () => {
    const free = await t.workspace('free');
    assert.deepEqual((await call('GET', '/folders', undefined, free.key)).json, []);
    assert.equal((await call('GET', '/folders/count', undefined, free.key)).json, 0);
    await refused(403, 'POST', '/folders', { name: newName() }, free.key, /plan/);
    await refused(403, 'GET', '/folders/fold_unknown', undefined, free.key, /plan/);
    const pro = await t.workspace('pro');
    const { id } = await create({ accessLevel: 'write' }, pro.key);
    for (const accessLevel of ['read', null]) {
      await refused(403, 'POST', '/folders', { name: newName(), accessLevel }, pro.key, /business/);
      await refused(403, 'PATCH', `/folders/${id}`, { accessLevel }, pro.key, /business/);
    }
    await refused(403, 'GET', `/folders/${id}/users`, undefined, pro.key, /business/);
    const business = await t.workspace('business');
    await create({ accessLevel: null }, business.key);
    await create({ accessLevel: 'read' }, business.key);
  });

  test('the limit on folders is 403 before the body is looked at, and holds at once for many', async () => {
    const workspace = await t.workspace();
    await t.app.services.workspaces.setLimit(workspace.id, 'folders', 2);
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => call('POST', '/folders', { name: newName() }, workspace.key)),
    );
    assert.deepEqual(replies.map((reply) => reply.status).sort(), [201, 201, 403, 403, 403]);
    await refused(403, 'POST', '/folders', {}, workspace.key);
  });

  test('lists are paged in order of creation and searched by part of the name', async () => {
    const { key } = await t.workspace();
    for (const name of ['Beta', 'alpha', 'Gamma']) {
      await create({ name }, key);
      t.clock.advance(1);
    }
    assert.deepEqual(await names('', key), ['Beta', 'alpha', 'Gamma']);
    assert.deepEqual(await names('?page=2&pageSize=2', key), ['Gamma']);
    assert.deepEqual(await names('?sortBy=name', key), ['alpha', 'Beta', 'Gamma']);
    assert.deepEqual(await names('?sortOrder=desc', key), ['Gamma', 'alpha', 'Beta']);
    assert.deepEqual(await names('?search=ET', key), ['Beta']);
    assert.equal((await call('GET', '/folders/count?search=a', undefined, key)).json, 3);
    assert.equal((await call('GET', '/folders/count?search=GAM', undefined, key)).json, 1);
    await refused(422, 'GET', '/folders?pageSize=101', undefined, key, /pageSize/);
  });

  test('private folders are seen by workspace owners and by those with a role in them', async () => {
    const workspace = await t.workspace();
    const [anna, ben] = [await member(workspace), await member(workspace)];
    await create({ name: 'Open' }, workspace.key);
    t.clock.advance(1);
    const hidden = await create({ name: 'Private', accessLevel: null }, workspace.key);
    assert.deepEqual(await names('', workspace.key), ['Open', 'Private']);
    assert.deepEqual(await names('', anna.key), ['Open']);
    assert.equal((await call('GET', '/folders/count', undefined, anna.key)).json, 1);
    await refused(403, 'GET', `/folders/${hidden.id}`, undefined, anna.key);
    await call('PUT', `/folders/${hidden.id}/users/${anna.userId}`, { role: 'viewer' }, workspace.key);
    assert.deepEqual(await names('', anna.key), ['Open', 'Private']);
    assert.equal((await call('GET', `/folders/${hidden.id}`, undefined, anna.key)).status, 200);
    assert.deepEqual(await names('', ben.key), ['Open']);
    await t.app.services.workspaces.setPlan(workspace.id, 'pro');
    assert.deepEqual(await names('', ben.key), ['Open', 'Private']);
  });

  test('a folder is changed and deleted by its owner and workspace owners only', async () => {
    const workspace = await t.workspace();
    const [anna, ben] = [await member(workspace), await member(workspace)];
    const { id } = await create({}, anna.key);
    for (const role of ['editor', 'viewer', null]) {
      await call('PUT', `/folders/${id}/users/${ben.userId}`, { role }, anna.key);
      await refused(403, 'PATCH', `/folders/${id}`, { name: newName() }, ben.key);
      await refused(403, 'DELETE', `/folders/${id}`, undefined, ben.key);
      await refused(403, 'GET', `/folders/${id}/users`, undefined, ben.key);
      await refused(403, 'PUT', `/folders/${id}/users/${ben.userId}`, { role: 'owner' }, ben.key);
    }
    assert.equal((await call('PATCH', `/folders/${id}`, { name: newName() }, anna.key)).status, 200);
    assert.equal((await call('PATCH', `/folders/${id}`, { name: newName() }, workspace.key)).status, 200);
    await call('PUT', `/folders/${id}/users/${ben.userId}`, { role: 'owner' }, anna.key);
    assert.equal((await call('DELETE', `/folders/${id}`, undefined, ben.key)).status, 200);
  });

  test('personal roles are listed, replaced and taken away; only members of the workspace can have one', async () => {
    const workspace = await t.workspace();
    const stranger = await member(await t.workspace());
    const anna = await member(workspace);
    const { id } = await create({}, workspace.key);
    const roles = async () => {
      const reply = await call('GET', `/folders/${id}/users`, undefined, workspace.key);
      return reply.json.map((user: { userId: string; role: string }) => [user.userId, user.role]);
    };
    assert.deepEqual(await roles(), [[workspace.ownerId, 'owner']]);
    t.clock.advance(1);
    const set = await call('PUT', `/folders/${id}/users/${anna.userId}`, { role: 'viewer' }, workspace.key);
    assert.deepEqual(set.json, { folderId: id, userId: anna.userId, role: 'viewer' });
    await call('PUT', `/folders/${id}/users/${anna.userId}`, { role: 'editor' }, workspace.key);
    assert.deepEqual(await roles(), [
      [workspace.ownerId, 'owner'],
      [anna.userId, 'editor'],
    ]);
    const page = await call('GET', `/folders/${id}/users?page=2&pageSize=1`, undefined, workspace.key);
    assert.equal(page.json[0].userId, anna.userId);
    await call('PUT', `/folders/${id}/users/${anna.userId}`, { role: null }, workspace.key);
    assert.deepEqual(await roles(), [[workspace.ownerId, 'owner']]);
    await refused(404, 'PUT', `/folders/${id}/users/${stranger.userId}`, { role: 'viewer' }, workspace.key);
    await refused(404, 'PUT', `/folders/${id}/users/user_unknown`, { role: 'viewer' }, workspace.key);
    await refused(422, 'PUT', `/folders/${id}/users/${anna.userId}`, { role: 'boss' }, workspace.key, /role/);
    await refused(400, 'PUT', `/folders/${id}/users/${anna.userId}`, {}, workspace.key, /role/);
  });

  test('links may use a folder as its rights say; another workspace’s is as unknown', async () => {
    const { folders } = t.app.services;
    const workspace = await t.workspace();
    const { actor, userId } = await member(workspace);
    const owner = { ...actor, role: 'owner' as const, userId: workspace.ownerId };
    const fails = (code: string) => (error: unknown) => error instanceof AppError && error.code === code;
    const foreign = await create();
    for (const who of [actor, owner]) {
      await assert.rejects(folders.assertUsable(who, foreign.id, 'read'), fails('not_found'));
      await assert.rejects(folders.assertUsable(who, 'fold_unknown', 'read'), fails('not_found'));
    }
    const { id } = await create({ accessLevel: 'read' }, workspace.key);
    await folders.assertUsable(owner, id, 'write');
    await folders.assertUsable(actor, id, 'read');
    await assert.rejects(folders.assertUsable(actor, id, 'write'), fails('forbidden'));
    await call('PUT', `/folders/${id}/users/${userId}`, { role: 'editor' }, workspace.key);
    await folders.assertUsable(actor, id, 'write');
  });

  test('a folder cannot be deleted while a link is being put into it', async () => {
    const { db, services } = t.app;
    const { actor } = await member(home);
    const { id } = await create();
    const { promise: chosen, resolve: choose } = Promise.withResolvers<void>();
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const at = { workspaceId: home.id, domain: `late${++made}.example`, folderId: id };
    const writing = db.write(async () => {
      await services.folders.assertUsable(actor, id, 'write');
      choose();
      await gate;
      await insertLinks(db, at, ['late']);
    });
    await chosen;
    const owner = { ...actor, role: 'owner' as const };
    await assert.rejects(
      db.write(() => services.folders.delete(owner, id), { waitMs: 20 }),
      StoreBusyError,
    );
    open();
    await writing;
    await services.folders.delete(owner, id);
    assert.equal(await countLinks(db, { folder_id: id }), 0);
  });

  test('of the folders of many links the unusable ones are found; deleted ones refuse nothing', async () => {
    const { folders } = t.app.services;
    const workspace = await t.workspace();
    const { actor } = await member(workspace);
    const [open, readable, hidden] = [
      await create({}, workspace.key),
      await create({ accessLevel: 'read' }, workspace.key),
      await create({ accessLevel: null }, workspace.key),
    ];
    const all = [open.id, readable.id, hidden.id, hidden.id, 'fold_gone'];
    assert.deepEqual(await folders.findRefused(actor, all, 'read'), new Set([hidden.id]));
    assert.deepEqual(await folders.findRefused(actor, all, 'write'), new Set([readable.id, hidden.id]));
    assert.deepEqual(await folders.findRefused({ ...actor, role: 'owner' }, all, 'write'), new Set());
    assert.deepEqual(await folders.findRefused(actor, [], 'write'), new Set());
  });

  test('a list of links is narrowed to folders that can be read, and not at all for owners', async () => {
    const { folders } = t.app.services;
    const workspace = await t.workspace();
    const [anna, ben] = [await member(workspace), await member(workspace, 'viewer')];
    const [open, hidden] = [
      await create({}, workspace.key),
      await create({ accessLevel: null }, workspace.key),
    ];
    await call('PUT', `/folders/${hidden.id}/users/${anna.userId}`, { role: 'viewer' }, workspace.key);
    const at = { workspaceId: workspace.id, domain: `scope${++made}.example` };
    await insertLinks(t.app.db, at, ['none']);
    await insertLinks(t.app.db, { ...at, folderId: open.id }, ['open']);
    await insertLinks(t.app.db, { ...at, folderId: hidden.id }, ['hidden']);
    const seenBy = async (who: typeof anna.actor) => {
      const scope = folders.readableScope(who);
      assert.ok(scope);
      const query = t.app.db.query
        .selectFrom('link')
        .select('key')
        .where('domain', '=', at.domain)
        .orderBy('key');
      return (await query.where(scope(sql.ref('link.folder_id'))).execute()).map((row) => row.key);
    };
    assert.deepEqual(await seenBy(anna.actor), ['hidden', 'none', 'open']);
    assert.deepEqual(await seenBy(ben.actor), ['none', 'open']);
    assert.equal(folders.readableScope({ ...ben.actor, role: 'owner' }), undefined);
    assert.equal(folders.readableScope({ ...ben.actor, plan: 'pro' }), undefined);
  });

  test('a deleted folder is gone at once, its links stay and leave it, many of them by a job', async () => {
    const { id } = await create();
    const at = { workspaceId: home.id, domain: `leave${++made}.example`, folderId: id };
    await insertLinks(
      t.app.db,
      at,
      Array.from({ length: 1_200 }, (_, i) => `key${i}`),
    );
    assert.deepEqual((await call('DELETE', `/folders/${id}`)).json, { id });
    await refused(404, 'GET', `/folders/${id}`);
    assert.equal(await countLinks(t.app.db, { folder_id: id }), 700);
    await t.app.jobs.tick();
    assert.equal(await countLinks(t.app.db, { folder_id: id }), 0);
    assert.equal(await countLinks(t.app.db, { domain: at.domain }), 1_200);
  });

  test('every change writes one event, a refused one none', async () => {
    const { key, id: workspaceId } = await t.workspace();
    const { id, name } = await create({}, key);
    await call('PATCH', `/folders/${id}`, { description: 'x' }, key);
    await refused(409, 'POST', '/folders', { name }, key);
    await call('DELETE', `/folders/${id}`, undefined, key);
    assert.deepEqual(await eventsOf(workspaceId), ['folder.created', 'folder.updated', 'folder.deleted']);
  });
});
