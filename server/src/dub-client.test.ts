// The unmodified npm client `dub` against the real server on a real port: every call it offers must parse our
// answers, and our refusals must become its own errors. A new area adds its steps to AREAS.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Dub } from 'dub';
import { webhookEventFromJSON } from 'dub/models/components';
import * as errors from 'dub/models/errors';
import { converting } from './testing/conversion-calls.ts';
import { eachDatabase } from './testing/databases.ts';
import { createEventFeed } from './testing/event-feed.ts';
import { openTestApp, type TestApp, type TestWorkspace } from './testing/test-app.ts';
import { visit } from './testing/visitors.ts';

interface Steps {
  readonly dub: Dub;
  readonly t: TestApp;
  readonly workspace: TestWorkspace;
  readonly port: number;
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

const CUSTOMERS: Step[] = [
  [
    'lists, gets, updates and deletes customers',
    async ({ dub, t, workspace }) => {
      const { key } = workspace;
      const link = await dub.links.create({ url: 'https://acme.example/p' });
      const made = await t.app.services.customers.create(workspace.id, {
        externalId: 'u_42',
        email: 'ada@acme.example',
        country: 'US',
        linkId: link.id,
      });
      const body = { externalId: 'u_43', country: 'DE', name: 'Bob' };
      await t.request('POST', '/customers', { key, body });
      const customer = await dub.customers.get({ id: 'ext_u_42', includeExpandedFields: true });
      assert.deepEqual(
        [customer.id, customer.name, customer.email, customer.link?.shortLink, customer.partner],
        [made.id, 'ada@acme.example', 'ada@acme.example', link.shortLink, undefined],
      );
      const changed = await dub.customers.update({
        id: made.id,
        requestBody: { name: 'Ada R.', avatar: 'https://acme.example/ada.png', country: 'FR' },
      });
      assert.deepEqual(
        [changed.name, changed.avatar, changed.country, changed.sales, changed.firstSaleAt],
        ['Ada R.', 'https://acme.example/ada.png', 'FR', 0, null],
      );
      const names = async (request: Parameters<typeof dub.customers.list>[0]) =>
        (await dub.customers.list(request)).result.map(({ name }) => name);
      assert.deepEqual(await names({ search: 'ada' }), ['Ada R.']);
      assert.deepEqual(await names({ linkId: link.id, includeExpandedFields: true }), ['Ada R.']);
      assert.deepEqual(await names({ sortBy: 'saleAmount', sortOrder: 'asc', country: 'DE' }), ['Bob']);
      assert.deepEqual(await dub.customers.delete(made.id), { id: made.id });
      assert.deepEqual(await names({}), ['Bob']);
    },
  ],
  [
    'goes through all customers page by page',
    async ({ dub, t, workspace }) => {
      const made: string[] = [];
      for (let i = 0; i < 7; i++) {
        made.unshift((await t.app.services.customers.create(workspace.id, { externalId: `u_${i}` })).id);
      }
      const found: string[] = [];
      for await (const page of await dub.customers.list({ pageSize: 3 }))
        found.push(...page.result.map(({ id }) => id));
      assert.deepEqual(found, made);
    },
  ],
  [
    'gets its own error classes for refusals of customers',
    async ({ dub, t, workspace }) => {
      const { customers } = t.app.services;
      const { id } = await customers.create(workspace.id, { externalId: 'taken' });
      await customers.create(workspace.id, { externalId: 'other' });
      const change = { id: 'ext_other', requestBody: { externalId: 'taken' } };
      await assert.rejects(dub.customers.update(change), errors.Conflict);
      await assert.rejects(dub.customers.get({ id: 'ext_nobody' }), errors.NotFound);
      await assert.rejects(clientOf((await t.workspace()).key).customers.delete(id), errors.Forbidden);
      await assert.rejects(clientOf((await t.workspace('pro')).key).customers.list(), errors.Forbidden);
      await assert.rejects(dub.customers.list({ partnerId: 'pn_1' }), errors.NotFound);
    },
  ],
];

/** Visits a new link as a browser would; returns it with the id that its destination gets. */
async function clickedLink({ dub, port }: Steps) {
  const link = await dub.links.create({ url: 'https://shop.example/p', trackConversion: true });
  const { location } = await visit(port, `/${link.key}`, { host: link.domain });
  const clickId = new URL(location as string).searchParams.get('dub_id') as string;
  return { link, clickId };
}

const CONVERSIONS: Step[] = [
  [
    'tracks a lead and sales from a visit on, and lists what was recorded',
    async (steps) => {
      const { dub, t } = steps;
      const { link, clickId } = await clickedLink(steps);
      const lead = await dub.track.lead({
        clickId,
        eventName: 'Sign up',
        customerExternalId: 'u_42',
        customerName: 'Ada Ray',
        customerEmail: 'ada@shop.example',
        metadata: { plan: 'pro' },
      });
      assert.deepEqual(
        [lead.click.id, lead.link?.id, lead.link?.shortLink, lead.customer.externalId],
        [clickId, link.id, link.shortLink, 'u_42'],
      );
      const invoice = {
        customerExternalId: 'u_42',
        amount: 4_900,
        invoiceId: 'inv_77',
        metadata: { seats: 3 },
      };
      const sale = await dub.track.sale({
        ...invoice,
        paymentProcessor: 'stripe',
        eventName: 'Invoice paid',
      });
      assert.deepEqual(
        [sale.eventName, sale.customer?.name, sale.sale],
        [
          'Invoice paid',
          'Ada Ray',
          {
            amount: 4_900,
            currency: 'usd',
            paymentProcessor: 'stripe',
            invoiceId: 'inv_77',
            metadata: { seats: 3 },
          },
        ],
      );
      assert.deepEqual(await dub.track.sale(invoice), sale, 'the same invoice');
      const euros = await dub.track.sale({ customerExternalId: 'u_42', amount: 1_000, currency: 'eur' });
      const total = 4_900 + (euros.sale?.amount ?? 0);
      const counted = await dub.links.get({ linkId: link.id });
      assert.deepEqual(
        [counted.leads, counted.conversions, counted.sales, counted.saleAmount],
        [1, 1, 2, total],
      );
      const customer = await dub.customers.get({ id: 'ext_u_42' });
      assert.deepEqual([customer.sales, customer.saleAmount], [2, total]);
      await t.app.events.settle();
      const leads = await dub.events.list({ event: 'leads' });
      const sales = await dub.events.list({ event: 'sales', sortOrder: 'asc' });
      assert.partialDeepStrictEqual(leads, [
        { event: 'lead', eventName: 'Sign up', metadata: { plan: 'pro' }, click: { id: clickId } },
      ]);
      assert.equal(sales.length, 2);
      const paid = sales.find((event) => 'sale' in event && event.sale?.invoiceId === 'inv_77');
      assert.partialDeepStrictEqual(paid, {
        event: 'sale',
        sale: { amount: 4_900, currency: 'usd' },
        customer: { externalId: 'u_42', name: 'Ada Ray' },
        link: { id: link.id, saleAmount: total },
      });
    },
  ],
  [
    'sells to somebody new by a click, and to nobody without one',
    async (steps) => {
      const { dub } = steps;
      const { link, clickId } = await clickedLink(steps);
      const nobody = await dub.track.sale({ customerExternalId: 'new', amount: 100 });
      assert.deepEqual([nobody.customer, nobody.sale], [null, null]);
      const direct = await dub.track.sale({ customerExternalId: 'new', amount: 100, clickId });
      assert.equal(direct.sale?.amount, 100);
      assert.equal((await dub.links.get({ linkId: link.id })).leads, 1);
      const deferred = {
        clickId,
        eventName: 'Trial',
        customerExternalId: 'later',
        mode: 'deferred',
      } as const;
      assert.equal((await dub.track.lead(deferred)).link?.id, link.id);
      assert.equal((await dub.links.get({ linkId: link.id })).leads, 1);
      await dub.track.lead({
        clickId: '',
        eventName: 'Trial',
        customerExternalId: 'later',
        eventQuantity: 2,
      });
      assert.equal((await dub.links.get({ linkId: link.id })).leads, 3);
    },
  ],
  [
    'reads what receivers of webhooks are told of leads and sales',
    async (steps) => {
      const { dub, t, workspace } = steps;
      const { link, clickId } = await clickedLink(steps);
      const heard = await (await converting(t, workspace)).hearEvents();
      await dub.track.lead({ clickId, eventName: 'Sign up', customerExternalId: 'u', metadata: { a: 1 } });
      await dub.track.sale({ customerExternalId: 'u', amount: 700 });
      await dub.track.sale({ customerExternalId: 'v', amount: 50, clickId, invoiceId: 'inv' });
      const read = heard.map(({ type, webhook }) => {
        const envelope = { id: 'evt_1', event: type, createdAt: '2027-01-15T10:00:00.000Z', data: webhook };
        const parsed = webhookEventFromJSON(JSON.stringify(envelope));
        assert.ok(parsed.ok, `${type}: ${parsed.error?.message} ${parsed.error?.cause}`);
        return parsed.value as { event: string; data: { customer: { sales: number }; link: { id: string } } };
      });
      assert.deepEqual(
        read.map(({ event, data }) => [event, data.customer.sales, data.link.id]),
        ['lead', 'sale', 'lead', 'sale'].map((kind) => [`${kind}.created`, 0, link.id]),
      );
    },
  ],
  [
    'gets its own error classes for refusals of conversions',
    async (steps) => {
      const { dub, t } = steps;
      const lead = { clickId: 'unknown', eventName: 'Sign up', customerExternalId: 'u' };
      await assert.rejects(dub.track.lead(lead), errors.NotFound);
      await assert.rejects(dub.track.lead({ ...lead, clickId: '' }), errors.BadRequest);
      await assert.rejects(
        dub.track.lead({ ...lead, metadata: { long: 'm'.repeat(10_001) } }),
        errors.UnprocessableEntity,
      );
      await assert.rejects(
        dub.track.sale({ customerExternalId: 'u', amount: 1, currency: 'xxx' }),
        errors.UnprocessableEntity,
      );
      await assert.rejects(
        dub.track.sale({ customerExternalId: 'u', amount: 1, clickId: 'x' }),
        errors.NotFound,
      );
      const pro = clientOf((await t.workspace('pro')).key);
      await assert.rejects(pro.track.lead(lead), errors.Forbidden);
    },
  ],
];

/** Groupings whose rows the client can parse; of the others it takes empty lists only. */
const PARSED_GROUPINGS = [
  'timeseries',
  'continents',
  'countries',
  'regions',
  'cities',
  'devices',
  'browsers',
  'os',
  'trigger',
  'triggers',
  'referers',
  'referer_urls',
  'top_links',
  'top_urls',
  'top_base_urls',
] as const;

const EVENTS: Step[] = [
  [
    'lists clicks, leads and sales, in either order and with every kind of filter',
    async ({ dub, t, workspace }) => {
      const feed = createEventFeed(t, workspace);
      const link = await feed.link({ trackConversion: true });
      const customer = await feed.customer({ name: 'Ada', email: 'ada@acme.example' });
      const timeMs = t.clock.now() - 1_000;
      const clickId = await feed.click(link, { timeMs });
      await feed.click(link);
      await feed.lead(link, { customerId: customer });
      await feed.lead(link, { customerId: 'cus_gone', timeMs, metadata: '{"plan":"pro","seats":5}' });
      await feed.sale(link, {
        customerId: customer,
        amount: 4900,
        invoiceId: 'inv_1',
        paymentProcessor: 'paddle',
      });
      await feed.settle();
      assert.equal((await dub.events.list()).length, 2);
      const [first] = await dub.events.list({ sortOrder: 'asc' });
      assert.ok(first?.event === 'click');
      assert.deepEqual([first.click.id, first.link.id, first.clickId], [clickId, link.id, clickId]);
      const leads = await dub.events.list({ event: 'leads' });
      assert.deepEqual(
        leads.map((lead) => lead.event === 'lead' && lead.customer.name),
        ['Ada', 'Deleted Customer'],
      );
      const query = "metadata['plan']:'pro'";
      const [found, ...none] = await dub.events.list({
        event: 'leads',
        query,
        country: 'US,DE',
        utmMedium: 'medium',
      });
      assert.ok(found?.event === 'lead' && none.length === 0);
      assert.deepEqual(found.metadata, { plan: 'pro', seats: 5 });
      const [sale] = await dub.events.list({ event: 'sales', interval: '7d', saleType: 'new', limit: 1 });
      assert.ok(sale?.event === 'sale');
      assert.deepEqual(
        [sale.sale.amount, sale.sale.paymentProcessor, sale.saleAmount],
        [4900, 'paddle', 4900],
      );
      assert.deepEqual(await dub.events.list({ page: 2, timezone: 'Europe/Berlin', interval: 'all' }), []);
    },
  ],
  [
    'retrieves statistics, added up and by every grouping that it can parse',
    async ({ dub, t, workspace }) => {
      const feed = createEventFeed(t, workspace);
      const link = await feed.link();
      await feed.click(link);
      await feed.lead(link);
      await feed.sale(link);
      await feed.settle();
      const sums = { clicks: 1, leads: 1, sales: 1, saleAmount: 1_000 };
      assert.deepEqual(await dub.analytics.retrieve({ event: 'composite' }), sums);
      assert.deepEqual(await dub.analytics.retrieve(), { clicks: 1, leads: 0, sales: 0, saleAmount: 0 });
      for (const groupBy of PARSED_GROUPINGS) {
        const rows = await dub.analytics.retrieve({ event: 'composite', groupBy, interval: '7d' });
        assert.ok(Array.isArray(rows) && rows.length > 0, groupBy);
      }
      assert.deepEqual(await dub.analytics.retrieve({ groupBy: 'top_partners' }), []);
    },
  ],
  [
    'gets its own error classes for refusals of events and statistics',
    async ({ dub, t }) => {
      await assert.rejects(dub.events.list({ start: 'soon' }), errors.UnprocessableEntity);
      await assert.rejects(dub.events.list({ key: 'alone' }), errors.UnprocessableEntity);
      await assert.rejects(dub.events.list({ externalId: 'plain' }), errors.BadRequest);
      await assert.rejects(dub.events.list({ externalId: 'ext_unknown' }), errors.NotFound);
      await assert.rejects(dub.analytics.retrieve({ timezone: 'Mars/Base' }), errors.UnprocessableEntity);
      const pro = clientOf((await t.workspace('pro')).key);
      await assert.rejects(pro.events.list({}), errors.Forbidden);
      await assert.rejects(
        clientOf((await t.workspace('free')).key).analytics.retrieve({}),
        errors.Forbidden,
      );
      const busy = clientOf((await t.workspace('pro')).key);
      for (let i = 0; i < 2; i++) await busy.analytics.retrieve({});
      await assert.rejects(busy.analytics.retrieve({}), errors.RateLimitExceeded);
    },
  ],
];

const PARTNERS: Step[] = [
  [
    'runs a partner program: partners, their links, applications, bans',
    async ({ dub, t, workspace: { key } }) => {
      const send = async (method: string, path: string, body: unknown) =>
        (await t.request(method, path, { key, body })).json;
      await assert.rejects(dub.partners.list({}), errors.NotFound);
      const program = await send('POST', '/programs', { name: 'Acme', url: 'https://acme.example' });
      const form = { fields: [{ id: 'why', type: 'short-text', label: 'Why?' }] };
      await send('PATCH', '/groups/default', { applicationForm: form, applicationFormPublished: true });
      const email = `mia-${program.slug}@client.example`;
      const mia = await dub.partners.create({
        email,
        name: 'Mia Lund',
        tenantId: 'u_77',
        country: 'SE',
        linkProps: { prefix: '/r/', comments: 'First' },
      });
      assert.deepEqual(
        [mia.status, mia.email, mia.links?.length, mia.totalClicks],
        ['approved', email, 1, 0],
      );
      const link = await dub.partners.createLink({ tenantId: 'u_77', url: 'https://acme.example/pricing' });
      assert.deepEqual([link.partnerId, link.trackConversion], [mia.id, true]);
      const same = await dub.partners.upsertLink({ partnerId: mia.id, url: 'https://acme.example/pricing' });
      assert.equal(same.id, link.id);
      assert.equal((await dub.partners.retrieveLinks({ partnerId: mia.id })).length, 2);
      const [listed] = await dub.partners.list({ search: 'lund', sortBy: 'netRevenue', status: 'approved' });
      assert.deepEqual([listed?.id, listed?.links?.length], [mia.id, 2]);
      assert.deepEqual(await dub.partners.deactivate({ tenantId: 'u_77' }), { partnerId: mia.id });
      assert.deepEqual(await dub.partners.ban({ partnerId: mia.id, reason: 'fraud' }), { partnerId: mia.id });
      const [banned] = await dub.partners.list({ status: 'banned', tenantId: 'u_77' });
      assert.deepEqual([banned?.bannedReason, typeof banned?.bannedAt], ['fraud', 'string']);

      const apply = (name: string) =>
        send('POST', `/programs/${program.slug}/applications`, {
          name,
          email: `${name}-${program.slug}@client.example`,
          answers: { why: 'Because' },
        });
      await apply('bo');
      t.clock.advance(1);
      await apply('cy');
      const [cy, bo] = await dub.partnerApplications.list({ pageSize: 10 });
      assert.deepEqual(cy?.applicationFormData, [{ label: 'Why?', value: 'Because' }]);
      const partnerId = bo?.partner.id as string;
      assert.deepEqual(await dub.partnerApplications.approve({ partnerId }), { partnerId });
      await assert.rejects(dub.partnerApplications.approve({ partnerId }), errors.BadRequest);
      const rejected = { partnerId: cy?.partner.id as string, rejectionReason: 'notTheRightFit' } as const;
      assert.deepEqual(await dub.partnerApplications.reject(rejected), { partnerId: rejected.partnerId });
      assert.deepEqual(await dub.partnerApplications.list({}), []);
    },
  ],
  [
    'gives partners codes, bounties and pages of their own, and counts what they bring',
    async ({ dub, t, workspace }) => {
      const send = async (method: string, path: string, body: unknown, key = workspace.key) =>
        (await t.request(method, path, { key, body })).json;
      const { slug } = await send('POST', '/programs', { name: 'Acme', url: 'https://acme.example' });
      const discount = await send('POST', '/discounts', { type: 'percentage', amount: 20 });
      const email = `mia-${slug}@client.example`;
      const mia = await dub.partners.create({ email, name: 'Mia Lund', tenantId: 'u_77' });
      const { id: partnerId } = mia;
      const [link] = mia.links ?? [];
      const linkId = link?.id as string;

      const code = await dub.discountCodes.create({ partnerId, linkId });
      assert.deepEqual(
        [code.code, code.discountId, code.linkId, code.disabledAt],
        ['MIA20OFF', discount.id, linkId, null],
      );
      await assert.rejects(dub.discountCodes.create({ partnerId, linkId }), errors.BadRequest);
      assert.deepEqual(await dub.discountCodes.list({ partnerId, discountId: discount.id }), [code]);
      assert.deepEqual(await dub.discountCodes.delete('MIA20OFF'), { id: code.id });
      await assert.rejects(dub.discountCodes.delete(code.id), errors.NotFound);

      const { publicToken, expires } = await dub.embedTokens.referrals({ tenantId: 'u_77' });
      assert.equal(Date.parse(expires), t.clock.now() + 3 * 3_600_000);
      await assert.rejects(dub.embedTokens.referrals({}), errors.UnprocessableEntity);
      const other = { email: `bo-${slug}@client.example`, tenantId: 'u_78' };
      assert.match((await dub.embedTokens.referrals({ partner: other })).publicToken, /^lt_embed_/);

      const bounty = await send('POST', '/bounties', { name: 'Post', type: 'submission', rewardAmount: 500 });
      const path = `/embed/referrals/bounties/${bounty.id}/submissions`;
      await send('POST', path, { urls: ['https://blog.example/post'] }, publicToken);
      const [submission] = await dub.bounties.listSubmissions({ bountyId: bounty.id, status: 'submitted' });
      assert.deepEqual(submission?.urls, ['https://blog.example/post']);
      const named = { bountyId: bounty.id, submissionId: submission?.id as string };
      const requestBody = { rejectionReason: 'invalidProof', rejectionNote: 'Where?' } as const;
      assert.equal((await dub.bounties.rejectSubmission({ ...named, requestBody })).status, 'rejected');
      const approved = await dub.bounties.approveSubmission(named);
      assert.deepEqual([approved.status, approved.periodNumber], ['approved', 1]);
      await assert.rejects(dub.bounties.approveSubmission(named), errors.BadRequest);

      const { click, readLink, lead, sale } = await converting(t, workspace);
      const clickId = await click(await readLink(linkId));
      await lead({ clickId, customerExternalId: `c-${slug}` });
      await sale({ customerExternalId: `c-${slug}`, amount: 4_900 });
      await t.app.events.settle();
      const numbers = { clicks: 1, leads: 1, sales: 1, saleAmount: 4_900, earnings: 0 };
      assert.deepEqual(await dub.partners.analytics({ partnerId }), numbers);
      const series = await dub.partners.analytics({ partnerId, groupBy: 'timeseries', interval: '7d' });
      assert.ok(Array.isArray(series) && series.length >= 7);
      const top = await dub.partners.analytics({ tenantId: 'u_77', groupBy: 'top_links' });
      assert.deepEqual(
        (top as { id: string; clicks: number }[]).map(({ id, clicks }) => [id, clicks]),
        [[linkId, 1]],
      );
    },
  ],
  [
    'gets its own error classes for refusals of partners',
    async ({ dub, t }) => {
      await assert.rejects(dub.partners.create({ email: 'nobody' }), errors.UnprocessableEntity);
      await assert.rejects(dub.partners.ban({ partnerId: 'pn_unknown', reason: 'spam' }), errors.NotFound);
      await assert.rejects(
        dub.partners.createLink({ partnerId: 'pn_unknown', url: 'https://acme.example' }),
        errors.NotFound,
      );
      await assert.rejects(clientOf((await t.workspace('pro')).key).partners.list({}), errors.Forbidden);
    },
  ],
];

const EARNINGS: Step[] = [
  [
    'pays the partners of a program: commissions of every type, corrections, payouts',
    async ({ dub, t, workspace: { key } }) => {
      const send = async (method: string, path: string, body: unknown) =>
        (await t.request(method, path, { key, body })).json;
      const program = await send('POST', '/programs', { name: 'Acme', url: 'https://acme.example' });
      await send('PATCH', '/groups/default', { holdingPeriodDays: 0 });
      const terms = { groupId: 'default', event: 'sale', type: 'percentage', amountInPercentage: 20 };
      await send('POST', '/rewards', terms);
      const mia = await dub.partners.create({ email: `pay-${program.slug}@client.example`, tenantId: 'pay' });
      const partnerId = mia.id;
      const customer = { externalId: 'buyer', country: 'SE', name: 'Bo' };
      const sold = await dub.commissions.create({
        type: 'sale',
        partnerId,
        customer,
        sale: { amount: 9_900, invoiceId: 'in_1', metadata: { plan: 'pro' } },
      });
      assert.equal(sold.success, true);
      await dub.commissions.create({
        type: 'lead',
        partnerId,
        customer: { externalId: 'lead', country: 'SE' },
      });
      await dub.commissions.create({ type: 'custom', partnerId, amount: 500 });
      await dub.commissions.create({
        type: 'custom',
        partnerId,
        amount: -100,
        description: 'order_canceled',
      });
      const pages = await dub.commissions.list({ pageSize: 2, sortOrder: 'asc' });
      const walked: [string, number, string][] = [];
      for await (const page of pages) {
        for (const { type, earnings, status } of page.result) walked.push([type, earnings, status]);
      }
      assert.deepEqual(walked.toSorted(), [
        ['custom', -100, 'processed'],
        ['custom', 500, 'processed'],
        ['sale', 1_980, 'processed'],
      ]);
      const [sale] = (await dub.commissions.list({ type: 'sale', tenantId: 'pay' })).result;
      assert.deepEqual(
        [sale?.customer?.externalId, sale?.partner.id, sale?.metadata, sale?.invoiceId],
        ['buyer', partnerId, { plan: 'pro' }, 'in_1'],
      );
      const id = sale?.id as string;
      const updated = await dub.commissions.update({ id, requestBody: { saleAmount: 5_000 } });
      assert.deepEqual([updated.amount, updated.earnings], [5_000, 1_000]);
      const [payout, ...others] = await dub.payouts.list({ tenantId: 'pay' });
      assert.equal(others.length, 0);
      assert.deepEqual([payout?.amount, payout?.status, payout?.mode], [1_400, 'pending', 'external']);
      const status = 'duplicate';
      const bulk = await dub.commissions.updateMany({ commissionIds: [id], status });
      assert.deepEqual(bulk, [{ id, status }]);
      await assert.rejects(dub.commissions.updateMany({ commissionIds: [id], status }), errors.BadRequest);
      await assert.rejects(dub.commissions.update({ id: 'cm_x', requestBody: {} }), errors.NotFound);
      await assert.rejects(
        dub.commissions.create({ type: 'sale', partnerId, customer, sale: { amount: 1, invoiceId: 'in_1' } }),
        errors.Conflict,
      );
      await assert.rejects(
        dub.commissions.create({ type: 'custom', partnerId, amount: 0 }),
        errors.UnprocessableEntity,
      );
    },
  ],
];

const AREAS: Readonly<Record<string, readonly Step[]>> = {
  tags: TAGS,
  folders: FOLDERS,
  domains: DOMAINS,
  links: LINKS,
  customers: CUSTOMERS,
  conversions: CONVERSIONS,
  partners: PARTNERS,
  earnings: EARNINGS,
  events: EVENTS,
  refusals: REFUSALS,
};

let clientOf: (key: string) => Dub;

eachDatabase('the npm client dub', (databases) => {
  let t: TestApp;
  let port: number;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place(), env: { PORT: '0' } });
    ({ port } = (await t.app.listen()).address);
    clientOf = (key) => new Dub({ token: key, serverURL: `http://127.0.0.1:${port}/api` });
  });
  after(() => t.close());

  for (const [area, steps] of Object.entries(AREAS)) {
    for (const [name, run] of steps) {
      test(`${area}: ${name}`, async () => {
        const workspace = await t.workspace();
        await run({ t, workspace, port, dub: clientOf(workspace.key) });
      });
    }
  }
});
