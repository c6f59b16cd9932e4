// A valid request for every operation, for tests that run over all of them: the resources that path
// parameters name, and bodies and queries that are accepted. A new operation fails those tests until it is here.
import type { Operation } from '../http/operation.ts';
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

let made = 0;
const unique = (what: string) => `${what} ${++made}`;

/** The smallest image. */
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

async function makeLink(t: TestApp, { key }: TestWorkspace, body: object): Promise<string> {
  const { json } = await t.request('POST', '/links', { key, body });
  return json.id;
}

/** By the path up to and including its parameter. */
const RESOURCES: Readonly<Record<string, MakeResource>> = {
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
  '/tokens/{id}': async (t, { key }) => {
    const name = unique('Hidden key');
    const { token } = (await t.request('POST', '/tokens', { key, body: { name } })).json;
    const listed = (await t.request('GET', '/tokens?sortBy=createdAt', { key })).json;
    const { id } = listed.find((item: { name: string }) => item.name === name);
    const snapshot = async () => (await t.request('GET', `/tokens/${id}`, { key })).text;
    return { id, content: [name, token, token.slice(-4)], snapshot };
  },
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

/** A link of a workspace of its own, which lets every site report clicks. */
async function makeTrackedLink(t: TestApp): Promise<{ domain: string; key: string }> {
  const { key } = await t.workspace();
  const body = { url: `https://example.com/${++made}`, key: `tracked-${made}` };
  return (await t.request('POST', '/links', { key, body })).json;
}

/** By operation id; each call gives a body that can be accepted again. */
const BODIES: Readonly<Record<string, (t: TestApp) => unknown>> = {
  createTag: () => ({ name: unique('Tag'), color: 'green' }),
  updateTag: () => ({ name: unique('Renamed tag'), color: 'red' }),
  createLink: () => ({ url: `https://example.com/${++made}`, title: 'A title' }),
  upsertLink: () => ({ url: `https://example.com/${++made}` }),
  updateLink: () => ({ url: `https://example.com/${++made}`, comments: 'Changed' }),
  bulkCreateLinks: () => [{ url: `https://example.com/${++made}` }, { url: `https://example.com/${++made}` }],
  bulkUpdateLinks: () => ({ linkIds: ['link_unknown'], data: { comments: 'Changed' } }),
  createDomain: () => ({ slug: `go${++made}.valid.example`, expiredUrl: null }),
  updateDomain: () => ({ placeholder: 'https://example.com' }),
  registerDomain: () => ({ domain: 'example.link' }),
  createFolder: () => ({ name: unique('Folder'), accessLevel: 'write' }),
  updateFolder: () => ({ name: unique('Renamed folder') }),
  updateFolderUser: () => ({ role: 'viewer' }),
  updateWorkspace: () => ({ name: 'Renamed', allowedHostnames: ['example.com'] }),
  createToken: () => ({ name: unique('Key'), scopes: ['links.read'] }),
  updateToken: () => ({ name: unique('Renamed key'), scopes: ['tags.read'] }),
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

/** By operation id, for operations that need a query: '?a=b', or a function that makes what it names. */
const QUERIES: Readonly<Record<string, string | MakeQuery>> = {
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
      .filter((prefix) => !RESOURCES[prefix])
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
    const make = RESOURCES[prefix];
    if (!make) throw new Error(missingRequests([operation]).join('\n'));
    const resource = await make(t, workspace);
    const name = prefix.slice(prefix.lastIndexOf('{'));
    unknownPath = path.replace(name, 'no-such-id');
    path = path.replace(name, encodeURIComponent(resource.id));
    resources.push(resource);
  }
  const given = QUERIES[operation.id] ?? '';
  const query = typeof given === 'string' ? given : await given(t, workspace);
  return {
    path: `${path}${query}`,
    unknownPath: unknownPath && `${unknownPath}${query}`,
    body: await validBody(t, operation),
    resources,
  };
}

/** One more valid body, for a request that is made again. */
export async function validBody(t: TestApp, operation: Operation): Promise<unknown> {
  return BODIES[operation.id]?.(t);
}

function parameterPrefixes(path: string): string[] {
  return [...path.matchAll(/\{\w+\}/g)].map((match) => path.slice(0, match.index + match[0].length));
}
