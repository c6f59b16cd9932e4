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

/** Every field a link can be made with, as the client names them. */
const FULL_LINK = {
  url: 'https://shop.example/sale',
  key: 'Spring',
  externalId: 'ext_42',
  tenantId: 'tenant',
  trackConversion: true,
  archived: false,
  publicStats: true,
  tagNames: ['promo'],
  comments: 'Notes',
  expiresAt: 'in 3 days',
  expiredUrl: 'https://shop.example/over',
  password: 'open sesame',
  proxy: true,
  title: 'Title',
  description: 'Description',
  image: 'https://images.example.com/1.png',
  video: 'https://images.example.com/1.mp4',
  rewrite: true,
  ios: 'https://apps.example/ios',
  android: 'https://apps.example/android',
  geo: { DE: 'https://shop.example/de' },
  doIndex: true,
  utmSource: 'mail',
  utmMedium: 'medium',
  utmCampaign: 'campaign',
  utmTerm: 'term',
  utmContent: 'content',
  ref: 'ref',
  testVariants: [
    { url: 'https://a.example/', percentage: 40 },
    { url: 'https://b.example/', percentage: 60 },
  ],
  testStartedAt: '2027-01-15T10:00:00Z',
  testCompletedAt: 'in 7 days',
};

const LINKS: Step[] = [
  [
    'creates a link with every field and gets it in every way',
    async ({ dub, workspace }) => {
      const { slug } = await dub.domains.create({ slug: newDomain() });
      const tag = await dub.tags.create({ name: 'Promo', color: 'blue' });
      const folder = await dub.folders.create({ name: 'Campaign' });
      const { tagNames: _, ref, ...fields } = FULL_LINK;
      const link = await dub.links.create({ ...FULL_LINK, domain: slug, folderId: folder.id });
      const campaign =
        'utm_source=mail&utm_medium=medium&utm_campaign=campaign&utm_term=term&utm_content=content';
      assert.partialDeepStrictEqual(link, {
        ...fields,
        domain: slug,
        folderId: folder.id,
        url: `${FULL_LINK.url}?${campaign}&ref=${ref}`,
        externalId: '42',
        expiresAt: '2027-01-18T10:00:00.000Z',
        testStartedAt: '2027-01-15T10:00:00.000Z',
        testCompletedAt: '2027-01-22T10:00:00.000Z',
        shortLink: `https://${slug}/Spring`,
        tags: [tag],
        tagId: tag.id,
        workspaceId: workspace.id,
        userId: workspace.ownerId,
        clicks: 0,
        lastClicked: null,
        disabledAt: null,
      });
      assert.deepEqual(await dub.links.get({ linkId: link.id }), link);
      assert.deepEqual(await dub.links.get({ externalId: 'ext_42' }), link);
      assert.deepEqual(await dub.links.get({ domain: slug, key: 'spring' }), link);
      assert.equal((await dub.links.get({ domain: slug })).key, '_root');
    },
  ],
  [
    'makes a random key, and takes keyLength and prefix',
    async ({ dub }) => {
      assert.match((await dub.links.create({ url: 'a.example' })).key, /^[0-9A-Za-z]{7}$/);
      assert.match(
        (await dub.links.create({ url: 'a.example', keyLength: 4, prefix: '/c/' })).key,
        /^c\/[0-9A-Za-z]{4}$/,
      );
    },
  ],
  [
    'updates, upserts and deletes a link',
    async ({ dub }) => {
      const link = await dub.links.create({
        url: 'https://a.example',
        externalId: 'mine',
        utmSource: 'mail',
        title: 'T',
      });
      const updated = await dub.links.update('ext_mine', { url: 'https://b.example', title: null });
      assert.deepEqual(
        [updated.id, updated.url, updated.title],
        [link.id, 'https://b.example/?utm_source=mail', null],
      );
      assert.deepEqual(await dub.links.update(link.id, {}), updated);
      assert.equal((await dub.links.update(link.id, { utmSource: '' })).utmSource, null);
      const upserted = await dub.links.upsert({ url: 'https://u.example', utmMedium: 'm' });
      assert.deepEqual(await dub.links.upsert({ url: 'https://u.example', utmMedium: 'm' }), upserted);
      assert.deepEqual(await dub.links.delete('ext_mine'), { id: link.id });
    },
  ],
  [
    'creates, updates and deletes many links at once',
    async ({ dub }) => {
      const made = await dub.links.createMany([
        { url: 'https://a.example', externalId: 'a' },
        { url: 'b.example' },
      ]);
      const ids = made.map((item) => ('id' in item ? item.id : ''));
      const mixed = await dub.links.createMany([{ url: 'nope' }, { url: 'https://c.example' }]);
      assert.ok(mixed[0] && 'id' in mixed[0]);
      assert.ok(mixed[1] && 'code' in mixed[1] && mixed[1].code === 'unprocessable_entity');
      const updated = await dub.links.updateMany({ linkIds: ids, data: { title: 'All', utmSource: 's' } });
      assert.deepEqual(
        updated.map((link) => [link.id, link.title, link.utmSource]),
        ids.map((id) => [id, 'All', 's']),
      );
      assert.equal(
        (await dub.links.updateMany({ externalIds: ['ext_a'], data: { archived: true } }))[0]?.archived,
        true,
      );
      assert.deepEqual(await dub.links.updateMany({ data: {} }), []);
      assert.deepEqual(await dub.links.deleteMany({ linkIds: [ids[1] as string, 'ext_a', 'link_x'] }), {
        deletedCount: 2,
      });
    },
  ],
  [
    'lists and counts links with every argument, page by page',
    async ({ dub, workspace }) => {
      const { slug } = await dub.domains.create({ slug: newDomain() });
      const tag = await dub.tags.create({ name: 'Listed' });
      const folder = await dub.folders.create({ name: 'Listed' });
      for (const key of ['l1', 'l2', 'l3'])
        await dub.links.create({ url: 'https://list.example', domain: slug, key });
      await dub.links.create({
        url: 'x.example',
        key: 'in-it',
        tagIds: [tag.id],
        folderId: folder.id,
        tenantId: 't',
        domain: slug,
      });
      await dub.links.create({ url: 'y.example', key: 'old', archived: true, domain: slug });
      type Query = Parameters<typeof dub.links.list>[0];
      const keys = async (query: Query) => {
        const found: string[] = [];
        for await (const page of await dub.links.list(query))
          found.push(...page.result.map((link) => link.key));
        return found.filter((key) => key !== '_root').sort();
      };
      for (const [query, expected] of [
        [undefined, ['l1', 'l2', 'l3']],
        [{ pageSize: 2 }, ['l1', 'l2', 'l3']],
        [{ search: 'LIST.example' }, ['l1', 'l2', 'l3']],
        [{ domain: slug }, ['in-it', 'l1', 'l2', 'l3']],
        [{ tagIds: [tag.id, 'tag_x'] }, ['in-it']],
        [{ tagNames: ['listed', 'none'] }, ['in-it']],
        [{ folderId: folder.id }, ['in-it']],
        [{ tenantId: 't' }, ['in-it']],
        [{ userId: workspace.ownerId }, ['l1', 'l2', 'l3']],
        [{ showArchived: true }, ['l1', 'l2', 'l3', 'old']],
        [{ withTags: true, folderId: folder.id }, ['in-it']],
      ] as [Query, string[]][]) {
        assert.deepEqual(await keys(query), expected, JSON.stringify(query));
      }
      const newest = (await dub.links.list({ pageSize: 1 })).result[0];
      assert.equal((await dub.links.list({ startingAfter: newest?.id, pageSize: 1 })).result.length, 1);
      assert.equal((await dub.links.list({ endingBefore: newest?.id })).result.length, 0);
      assert.equal(await dub.links.count(), 4);
      assert.equal(await dub.links.count({ domain: slug, tagIds: [tag.id] }), 1);
    },
  ],
  [
    'gets its own error classes for refusals of links',
    async ({ dub, t }) => {
      const link = await dub.links.create({
        url: 'https://a.example',
        domain: (await dub.domains.create({ slug: newDomain() })).slug,
        key: 'taken',
      });
      await assert.rejects(dub.links.create({ url: 'https://a.example', key: 'TAKEN' }), errors.Conflict);
      await assert.rejects(dub.links.create({ url: 'nope' }), errors.UnprocessableEntity);
      await assert.rejects(dub.links.create({ url: '' }), errors.BadRequest);
      await assert.rejects(dub.links.create(), errors.BadRequest);
      await assert.rejects(dub.links.get({ linkId: 'link_x' }), errors.NotFound);
      await assert.rejects(dub.links.get({}), errors.BadRequest);
      await assert.rejects(clientOf((await t.workspace()).key).links.delete(link.id), errors.Forbidden);
      await assert.rejects(
        clientOf((await t.workspace('free')).key).links.create({ url: 'a.example', password: 'x' }),
        errors.Forbidden,
      );
      await assert.rejects(dub.links.createMany([]), errors.UnprocessableEntity);
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
  links: LINKS,
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
