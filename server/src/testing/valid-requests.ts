// A valid request for every operation, for tests that run over all of them: the resources that path
// parameters name, and bodies and queries that are accepted. A new operation fails those tests until it is here.
import type { Operation } from '../http/operation.ts';
import { converting } from './conversion-calls.ts';
import { EARNING_BODIES, EARNING_QUERIES, EARNING_RESOURCES } from './earning-requests.ts';
import { embedToken, PARTNER_BODIES, PARTNER_QUERIES, PARTNER_RESOURCES } from './partner-requests.ts';
import type { TestApp, TestWorkspace } from './test-app.ts';

interface Resource {
  /** The path parameter. */
  readonly id: string;
  /** What the resource holds and nobody else may learn. */
  readonly content: readonly string[];
  /** The resource as its workspace sees it, without what any use of the workspace changes. */
  snapshot(): Promise<string>;
}

type MakeResource = (t: TestApp, workspace: TestWorkspace) => Promise<Resource>;

const STRIPE_SECRET = 'whsec_abcdefghijklmnop';

let made = 0;
const unique = (what: string) => `${what} ${++made}`;

/** The smallest image. */
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** On the public Internet, and without a name to look up; nothing is ever sent to it. */
const webhookUrl = () => `https://8.8.8.8/${++made}`;

async function makeLink(t: TestApp, { key }: TestWorkspace, body: object): Promise<string> {
  const { json } = await t.request('POST', '/links', { key, body });
  return json.id;
}

/** By the path up to and including its parameter. */
const RESOURCES: Readonly<Record<string, MakeResource>> = {
  ...PARTNER_RESOURCES,
  ...EARNING_RESOURCES,
  '/tags/{id}': async (t, { key }) => {
    const name = unique('Hidden tag');
    const { json } = await t.request('POST', '/tags', { key, body: { name, color: 'brown' } });
    const snapshot = async () => (await t.request('GET', `/tags?ids=${json.id}`, { key })).text;
    return { id: json.id, content: [name, 'brown'], snapshot };
  },
  '/links/{linkId}': async (t, workspace) => {
    const url = `https://hidden${++made}.example/`;
    const id = await makeLink(t, workspace, { url, comments: 'Hidden words' });
    const snapshot = async () => (await t.request('GET', `/links/${id}`, { key: workspace.key })).text;
    return { id, content: [url, 'Hidden words'], snapshot };
  },
  '/customers/{id}': async (t, { key }) => {
    const body = { externalId: unique('hidden'), name: unique('Hidden person'), country: 'IS' };
    const { id } = (await t.request('POST', '/customers', { key, body })).json;
    const snapshot = async () => (await t.request('GET', `/customers/${id}`, { key })).text;
    return { id, content: [body.name, body.externalId], snapshot };
  },
  '/stripe/webhook/{workspaceId}': async (_t, { id }) => ({ id, content: [], snapshot: async () => '' }),
  '/files/{name}': async (t, workspace) => {
    const { key } = workspace;
    const id = await makeLink(t, workspace, { url: 'https://example.com/', image: PIXEL });
    const { image } = (await t.request('GET', `/links/${id}`, { key })).json;
    return { id: image.slice(image.lastIndexOf('/') + 1), content: [], snapshot: async () => '' };
  },
  '/domains/{slug}': async (t, { key }) => {
    const content = `https://hidden${++made}.example/`;
    const body = { slug: `go${made}.hidden.example`, placeholder: content };
    const { slug } = (await t.request('POST', '/domains', { key, body })).json;
    const snapshot = async () => (await t.request('GET', `/domains/${slug}`, { key })).text;
    return { id: slug, content: [content], snapshot };
  },
  '/folders/{id}': async (t, { id: workspaceId, key }) => {
    const name = unique('Hidden folder');
    const { id } = (await t.request('POST', '/folders', { key, body: { name } })).json;
    await makeFolderOwners(t, workspaceId, id);
    const snapshot = async () => (await t.request('GET', `/folders/${id}`, { key })).text;
    return { id, content: [name], snapshot };
  },
  '/folders/{id}/users/{userId}': async (t, { id: workspaceId }) => {
    const name = unique('Hidden member');
    const { users } = t.app.services;
    const id = await users.addMember(workspaceId, { name, role: 'member' });
    return {
      id,
      content: [name],
      snapshot: async () => JSON.stringify(await users.findMember(workspaceId, id)),
    };
  },
  '/workspaces/{idOrSlug}': async (t, { id, slug, key }) => {
    const snapshot = async () => (await t.request('GET', `/workspaces/${id}`, { key })).text;
    return { id, content: [slug, 'Test workspace'], snapshot };
  },
  '/webhooks/{id}': async (t, { key }) => {
    const name = unique('Hidden webhook');
    const body = { name, url: webhookUrl(), triggers: ['link.created'] };
    const { id, secret } = (await t.request('POST', '/webhooks', { key, body })).json;
    const snapshot = async () => (await t.request('GET', `/webhooks/${id}`, { key })).text;
    return { id, content: [name, secret], snapshot };
  },
  // Of the webhook that the same request names, which was made just before.
  '/webhooks/{id}/deliveries/{deliveryId}': async (t, { key }) => {
    const [webhook] = (await t.request('GET', '/webhooks?pageSize=1', { key })).json;
    const path = `/webhooks/${webhook.id}`;
    const { id } = (await t.request('POST', `${path}/test`, { key, body: { trigger: 'sale.created' } })).json;
    const snapshot = async () => (await t.request('GET', `${path}/deliveries`, { key })).text;
    return { id, content: [], snapshot };
  },
  '/tokens/{id}': async (t, { key }) => {
    const name = unique('Hidden key');
    const { token } = (await t.request('POST', '/tokens', { key, body: { name } })).json;
    const listed = (await t.request('GET', '/tokens?sortBy=createdAt', { key })).json;
    const { id } = listed.find((item: { name: string }) => item.name === name);
    const snapshot = async () => (await t.request('GET', `/tokens/${id}`, { key })).text;
    return { id, content: [name, token, token.slice(-4)], snapshot };
  },
};

/** Path parameters that choose among words and name no resource, by the path up to and including them. */
const CHOICES: Readonly<Record<string, string>> = {
  '/analytics/{eventType}': 'clicks',
  '/analytics/{eventType}/{endpoint}': 'countries',
};

/** Whether a role of the workspace may is tested elsewhere than what each person may in a folder. */
async function makeFolderOwners(t: TestApp, workspaceId: string, folderId: string): Promise<void> {
  const { db, clock } = t.app;
  const members = await db.query
    .selectFrom('member')
    .select('user_id')
    .where('workspace_id', '=', workspaceId)
    .execute();
  const times = { created_at: clock.now(), updated_at: clock.now() };
  await db.query
    .insertInto('folder_user')
    .values(members.map(({ user_id }) => ({ folder_id: folderId, user_id, role: 'owner', ...times })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Operations that are there for clients that know them and are 403 for everybody. */
export const NEVER_GRANTED: ReadonlySet<string> = new Set(['registerDomain', 'checkDomainStatus']);

/** Operations whose callers have no key and sign what they send; their own tests do so. */
export const SIGNED: ReadonlySet<string> = new Set(['receiveStripeEvent']);

/** A link of a workspace of its own, which lets every site report clicks. */
async function makeTrackedLink(t: TestApp): Promise<{ domain: string; key: string }> {
  const { key } = await t.workspace();
  const body = { url: `https://example.com/${++made}`, key: `tracked-${made}` };
  return (await t.request('POST', '/links', { key, body })).json;
}

/** The lead of a new customer, by a click that was brought along. */
async function makeLead(t: TestApp, workspace: TestWorkspace) {
  const { link, importClick, newCustomer } = await converting(t, workspace);
  const clickId = await importClick(await link({ trackConversion: false }));
  return { clickId, eventName: 'Sign up', customerExternalId: newCustomer(), metadata: { plan: 'pro' } };
}

/** By operation id; each call gives a body that can be accepted again. */
const BODIES: Readonly<Record<string, (t: TestApp, workspace: TestWorkspace) => unknown>> = {
  ...PARTNER_BODIES,
  ...EARNING_BODIES,
  createTag: () => ({ name: unique('Tag'), color: 'green' }),
  updateTag: () => ({ name: unique('Renamed tag'), color: 'red' }),
  createLink: () => ({ url: `https://example.com/${++made}`, title: 'A title' }),
  upsertLink: () => ({ url: `https://example.com/${++made}` }),
  updateLink: () => ({ url: `https://example.com/${++made}`, comments: 'Changed' }),
  bulkCreateLinks: () => [{ url: `https://example.com/${++made}` }, { url: `https://example.com/${++made}` }],
  bulkUpdateLinks: () => ({ linkIds: ['link_unknown'], data: { comments: 'Changed' } }),
  createCustomer: () => ({ externalId: unique('customer'), country: 'NO', email: 'person@example.com' }),
  updateCustomer: () => ({ externalId: unique('renamed'), name: 'Changed' }),
  createDomain: () => ({ slug: `go${++made}.valid.example`, expiredUrl: null }),
  updateDomain: () => ({ placeholder: 'https://example.com' }),
  registerDomain: () => ({ domain: 'example.link' }),
  createFolder: () => ({ name: unique('Folder'), accessLevel: 'write' }),
  updateFolder: () => ({ name: unique('Renamed folder') }),
  updateFolderUser: () => ({ role: 'viewer' }),
  updateWorkspace: () => ({ name: 'Renamed', allowedHostnames: ['example.com'] }),
  createToken: () => ({ name: unique('Key'), scopes: ['links.read'] }),
  createWebhook: () => ({ name: 'Orders', url: webhookUrl(), triggers: ['link.created', 'sale.created'] }),
  updateWebhook: () => ({ name: 'Renamed', triggers: ['lead.created'] }),
  rotateWebhookSecret: () => ({ overlapHours: 1 }),
  testWebhook: () => ({ trigger: 'link.created' }),
  replayWebhook: () => ({ since: '2 days ago' }),
  updateToken: () => ({ name: unique('Renamed key'), scopes: ['tags.read'] }),
  connectStripe: () => ({ webhookSecret: STRIPE_SECRET, apiKey: 'rk_test_abcdefghijklmnop' }),
  receiveStripeEvent: () => ({ type: 'customer.created', data: { object: { id: 'cus_1' } } }),
  trackLead: makeLead,
  trackLeadFromPage: makeLead,
  trackSale: async (t, workspace) => ({ ...(await makeLead(t, workspace)), amount: 4_900, currency: 'eur' }),
  trackSaleFromPage: async (t, workspace) => ({ ...(await makeLead(t, workspace)), amount: 4_900 }),
  trackClick: async (t) => {
    const { domain, key } = await makeTrackedLink(t);
    return { domain, key, url: 'https://example.com/page', referrer: 'https://news.example/' };
  },
  trackVisit: async (t) => {
    const { domain, key } = await makeTrackedLink(t);
    return { domain, url: `https://example.com/${key}`, referrer: '' };
  },
  trackOpen: async (t) => {
    const { domain, key } = await makeTrackedLink(t);
    return { deepLink: `https://${domain}/${key}`, dubDomain: domain };
  },
};

type MakeQuery = (t: TestApp, workspace: TestWorkspace) => Promise<string>;

/** A connection is no resource with an id of its own: the workspace has it or has not. */
async function connectStripe(t: TestApp, { id }: TestWorkspace): Promise<string> {
  await t.app.services.payments.connectStripe(id, { secret: STRIPE_SECRET });
  return '';
}

/** By operation id, for operations that need a query: '?a=b', or a function that makes what it names. */
const QUERIES: Readonly<Record<string, string | MakeQuery>> = {
  getStripeIntegration: connectStripe,
  disconnectStripe: connectStripe,
  ...PARTNER_QUERIES,
  ...EARNING_QUERIES,
  retrievePublicAnalytics: async (t, { key: authorization }) => {
    const body = { url: `https://example.com/${++made}`, publicStats: true };
    const { domain, key } = (await t.request('POST', '/links', { key: authorization, body })).json;
    return `?domain=${domain}&key=${key}`;
  },
  getLinkInfo: async (t, workspace) =>
    `?linkId=${await makeLink(t, workspace, { url: `https://example.com/${++made}` })}`,
  bulkDeleteLinks: '?linkIds=link_unknown',
  checkLinkExists: '?domain=go.example.com&key=some-key',
  getRandomLinkKey: '?domain=go.example.com',
  checkDomainStatus: '?domains=example.link',
  // An address that the server may not reach, so that no test leaves the machine.
  getMetatags: '?url=http://127.0.0.1/page',
  checkIframeable: '?url=http://127.0.0.1/page&domain=go.example',
  getQRCode: '?url=https://go.example/page',
};

export interface ValidRequest {
  readonly path: string;
  /** The same with an id that no resource has; undefined when the path has no parameter. */
  readonly unknownPath: string | undefined;
  readonly body: unknown;
  readonly resources: readonly Resource[];
}

/** What is missing here before the tests over all operations can run; empty when nothing is. */
export function missingRequests(operations: readonly Operation[]): string[] {
  return operations.flatMap((operation) => [
    ...parameterPrefixes(operation.path)
      .filter((prefix) => !RESOURCES[prefix] && !CHOICES[prefix])
      .map((prefix) => `RESOURCES['${prefix}']: a function that makes the resource of ${operation.id}`),
    ...(operation.body && !BODIES[operation.id]
      ? [`BODIES.${operation.id}: a function that returns a valid body`]
      : []),
    ...(operation.query && !operation.query.safeParse({}).success && !QUERIES[operation.id]
      ? [`QUERIES.${operation.id}: a valid query such as '?a=b'`]
      : []),
  ]);
}

/** A request that the owner of the workspace may make and that succeeds. */
export async function validRequest(
  t: TestApp,
  workspace: TestWorkspace,
  operation: Operation,
): Promise<ValidRequest> {
  let path: string = operation.path;
  let unknownPath: string | undefined;
  const resources: Resource[] = [];
  for (const prefix of parameterPrefixes(operation.path)) {
    const name = prefix.slice(prefix.lastIndexOf('{'));
    const choice = CHOICES[prefix];
    if (choice) {
      unknownPath = path.replace(name, 'no-such-id');
      path = path.replace(name, choice);
      continue;
    }
    const make = RESOURCES[prefix];
    if (!make) throw new Error(missingRequests([operation]).join('\n'));
    const resource = await make(t, workspace);
    unknownPath = path.replace(name, 'no-such-id');
    path = path.replace(name, encodeURIComponent(resource.id));
    resources.push(resource);
  }
  const given = QUERIES[operation.id] ?? '';
  const query = typeof given === 'string' ? given : await given(t, workspace);
  return {
    path: `${path}${query}`,
    unknownPath: unknownPath && `${unknownPath}${query}`,
    body: await validBody(t, operation, workspace),
    resources,
  };
}

/** One more valid body, for a request that is made again. */
export async function validBody(
  t: TestApp,
  operation: Operation,
  workspace: TestWorkspace,
): Promise<unknown> {
  return BODIES[operation.id]?.(t, workspace);
}

/** The key that the operation takes: the owner's, or for pages what the workspace publishes or a partner holds. */
export async function keyFor(t: TestApp, workspace: TestWorkspace, { access }: Operation): Promise<string> {
  if (access.by === 'embed_token') return embedToken(t, workspace);
  if (access.by !== 'publishable_key') return workspace.key;
  const publishableKey = `lt_pk_${workspace.id}`;
  await t.app.services.workspaces.update(workspace.actor, workspace.id, { publishableKey });
  return publishableKey;
}

function parameterPrefixes(path: string): string[] {
  return [...path.matchAll(/\{\w+\}/g)].map((match) => path.slice(0, match.index + match[0].length));
}
