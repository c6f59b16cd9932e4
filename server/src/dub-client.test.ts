// The unmodified npm client `dub` against the real server on a real port: every call it offers must parse our
// answers, and our refusals must become its own errors. A new area adds its steps to AREAS.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Dub } from 'dub';
import * as errors from 'dub/models/errors';
import { eachDatabase } from './testing/databases.ts';
import { openTestApp, type TestApp, type TestWorkspace } from './testing/test-app.ts';

interface Steps {
  readonly dub: Dub;
  readonly t: TestApp;
  readonly workspace: TestWorkspace;
}

type Step = readonly [name: string, run: (steps: Steps) => Promise<void>];

const TAGS: Step[] = [
  [
    'creates, lists, updates and deletes tags',
    async ({ dub }) => {
      const created = await dub.tags.create({ name: ' News ', color: 'blue' });
      assert.deepEqual({ ...created, id: '' }, { id: '', name: 'News', color: 'blue' });
      assert.deepEqual(await dub.tags.list(), [created]);
      const updated = await dub.tags.update(created.id, { name: 'Old news', color: 'red' });
      assert.deepEqual(updated, { id: created.id, name: 'Old news', color: 'red' });
      assert.deepEqual(await dub.tags.delete(created.id), { id: created.id });
      assert.deepEqual(await dub.tags.list({}), []);
    },
  ],
  [
    'lists tags with every argument',
    async ({ dub }) => {
      const [a, b, c] = await Promise.all(
        ['Alpha', 'Beta', 'Gamma'].map((name) => dub.tags.create({ name })),
      );
      const names = async (request: Parameters<typeof dub.tags.list>[0]) =>
        (await dub.tags.list(request)).map((tag) => tag.name);
      assert.deepEqual(await names({ search: 'ET' }), ['Beta']);
      assert.deepEqual(await names({ ids: [a?.id as string, c?.id as string] }), ['Alpha', 'Gamma']);
      assert.deepEqual(await names({ ids: b?.id as string }), ['Beta']);
      assert.deepEqual(await names({ sortBy: 'name', sortOrder: 'desc' }), ['Gamma', 'Beta', 'Alpha']);
      assert.deepEqual(await names({ page: 2, pageSize: 2 }), ['Gamma']);
    },
  ],
  [
    'gets its own error classes for refusals of tags',
    async ({ dub }) => {
      await dub.tags.create({ tag: 'Taken' });
      await assert.rejects(dub.tags.create({ name: 'taken' }), errors.Conflict);
      await assert.rejects(dub.tags.create({ name: 'n'.repeat(191) }), errors.UnprocessableEntity);
      await assert.rejects(dub.tags.create({}), errors.BadRequest);
      await assert.rejects(dub.tags.create(), errors.BadRequest);
      await assert.rejects(dub.tags.update('tag_unknown', { name: 'x' }), errors.NotFound);
      await assert.rejects(dub.tags.delete('a/b?c#d'), errors.NotFound);
    },
  ],
];

const FOLDERS: Step[] = [
  [
    'creates, lists, updates and deletes folders',
    async ({ dub }) => {
      const created = await dub.folders.create({ name: 'Q3' });
      assert.deepEqual(
        [created.name, created.description, created.type, created.accessLevel],
        ['Q3', null, 'default', 'write'],
      );
      const hidden = await dub.folders.create({ name: 'Private', description: 'Ours', accessLevel: null });
      assert.deepEqual([hidden.description, hidden.accessLevel], ['Ours', null]);
      assert.deepEqual(await dub.folders.list({ search: 'q' }), [created]);
      assert.equal((await dub.folders.list({ page: 2, pageSize: 1 })).length, 1);
      const updated = await dub.folders.update(created.id, { name: 'Q4', accessLevel: 'read' });
      assert.deepEqual([updated.id, updated.name, updated.accessLevel], [created.id, 'Q4', 'read']);
      assert.deepEqual(await dub.folders.delete(created.id), { id: created.id });
      assert.deepEqual(await dub.folders.list(), [hidden]);
    },
  ],
  [
    'gets its own error classes for refusals of folders',
    async ({ dub, t }) => {
      const { id } = await dub.folders.create({ name: 'Taken' });
      await assert.rejects(dub.folders.create({ name: 'taken' }), errors.Conflict);
      await assert.rejects(dub.folders.create({ name: '' }), errors.UnprocessableEntity);
      await assert.rejects(dub.folders.update('fold_unknown', { name: 'x' }), errors.NotFound);
      await assert.rejects(clientOf((await t.workspace()).key).folders.delete(id), errors.Forbidden);
      await assert.rejects(
        clientOf((await t.workspace('free')).key).folders.create({ name: 'x' }),
        errors.Forbidden,
      );
    },
  ],
];

let domainsMade = 0;
const newDomain = () => `go${++domainsMade}.client.example`;

const DOMAINS: Step[] = [
  [
    'creates, lists, updates and deletes domains',
    async ({ dub }) => {
      const slug = newDomain();
      const created = await dub.domains.create({
        slug,
        notFoundUrl: 'acme.example/404',
        expiredUrl: 'https://acme.example/expired',
        placeholder: 'https://acme.example',
        logo: 'https://acme.example/logo.png',
        assetLinks: '[]',
        appleAppSiteAssociation: '{}',
      });
      assert.deepEqual(
        [
          created.slug,
          created.primary,
          created.verified,
          created.notFoundUrl,
          created.logo,
          created.registeredDomain,
        ],
        [slug, true, false, 'https://acme.example/404', 'https://acme.example/logo.png', null],
      );
      const archived = await dub.domains.update(slug, { archived: true, expiredUrl: null });
      assert.deepEqual([archived.archived, archived.expiredUrl, archived.assetLinks], [true, null, '[]']);
      const second = await dub.domains.create({ slug: newDomain() });
      const slugs = async (request: Parameters<typeof dub.domains.list>[0]) => {
        const found: string[] = [];
        for await (const page of await dub.domains.list(request))
          found.push(...page.result.map((domain) => domain.slug));
        return found;
      };
      assert.deepEqual(await slugs({}), [second.slug]);
      assert.deepEqual(await slugs({ archived: true, pageSize: 1 }), [slug]);
      const renamed = newDomain();
      assert.equal((await dub.domains.update(slug, { slug: renamed })).slug, renamed);
      assert.deepEqual(await dub.domains.delete(renamed), { slug: renamed });
      assert.deepEqual(await slugs({ search: 'client' }), [second.slug]);
    },
  ],
  [
    'gets its own error classes for refusals of domains, and for registering one',
    async ({ dub, t }) => {
      const { slug } = await dub.domains.create({ slug: newDomain() });
      await assert.rejects(dub.domains.create({ slug }), errors.Conflict);
      await assert.rejects(dub.domains.create({ slug: 'nope' }), errors.UnprocessableEntity);
      await assert.rejects(dub.domains.update('unknown.example', {}), errors.NotFound);
      await assert.rejects(clientOf((await t.workspace()).key).domains.delete(slug), errors.Forbidden);
      await assert.rejects(dub.domains.register({ domain: 'acme.link' }), errors.Forbidden);
      await assert.rejects(dub.domains.checkStatus({ domains: ['acme.link'] }), errors.Forbidden);
    },
  ],
];

const REFUSALS: Step[] = [
  [
    'gets its own error classes for what every operation can answer',
    async ({ t, workspace, dub }) => {
      const { id } = await dub.tags.create({ name: 'Mine' });
      const other = await t.workspace();
      await assert.rejects(clientOf(other.key).tags.delete(id), (error: errors.Forbidden) => {
        assert.ok(error instanceof errors.Forbidden);
        assert.equal(error.error.code, 'forbidden');
        assert.match(error.error.docUrl ?? '', /\/api\/errors#forbidden$/);
        return true;
      });
      await assert.rejects(clientOf('lt_unknown').tags.list(), errors.Unauthorized);
      const reader = await workspace.newKey({ scopes: ['tags.read'] });
      await assert.rejects(clientOf(reader).tags.create({ name: 'x' }), errors.Forbidden);
    },
  ],
  [
    'gets its own error class for too many requests',
    async ({ t, workspace, dub }) => {
      await t.app.services.workspaces.setLimit(workspace.id, 'requestsPerMinute', 1);
      await dub.tags.list();
      await assert.rejects(dub.tags.list(), (error: errors.RateLimitExceeded) => {
        assert.ok(error instanceof errors.RateLimitExceeded);
        assert.match(error.headers.get('retry-after') ?? '', /^[1-9]\d?$/);
        return true;
      });
    },
  ],
];

const AREAS: Readonly<Record<string, readonly Step[]>> = {
  tags: TAGS,
  folders: FOLDERS,
  domains: DOMAINS,
  refusals: REFUSALS,
};

let clientOf: (key: string) => Dub;

eachDatabase('the npm client dub', (databases) => {
  let t: TestApp;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place(), env: { PORT: '0' } });
    const { address } = await t.app.listen();
    clientOf = (key) => new Dub({ token: key, serverURL: `http://127.0.0.1:${address.port}/api` });
  });
  after(() => t.close());

  for (const [area, steps] of Object.entries(AREAS)) {
    for (const [name, run] of steps) {
      test(`${area}: ${name}`, async () => {
        const workspace = await t.workspace();
        await run({ t, workspace, dub: clientOf(workspace.key) });
      });
    }
  }
});
