// Calls on links, for tests: short to write, and loud when an answer is not the one expected.
import assert from 'node:assert/strict';
import type { TestApp, TestReply, TestRequest, TestWorkspace } from './test-app.ts';

/** A link as an answer shows it. */
export type ShownLink = TestReply['json'];

export interface LinkCalls {
  readonly ws: TestWorkspace;
  call(method: string, path: string, body?: unknown, options?: TestRequest): Promise<TestReply>;
  /** GET of a path that answers 200. */
  get(path: string): Promise<ShownLink>;
  create(body: Record<string, unknown>): Promise<ShownLink>;
  update(id: string, body: Record<string, unknown>): Promise<ShownLink>;
  upsert(body: Record<string, unknown>): Promise<ShownLink>;
  /** The call is refused; the message names the field where one is given. */
  refused(
    status: number,
    field: string | undefined,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<void>;
  /** A domain of the workspace. */
  domain(fields?: Record<string, unknown>): Promise<string>;
  /** Types and payloads of the outbox, from the first on or after those seen before. */
  newEvents(): Promise<[type: string, payload: ShownLink][]>;
}

let domainsMade = 0;

export function linkCalls(t: TestApp, ws: TestWorkspace): LinkCalls {
  let lastEvent = 0;
  const call: LinkCalls['call'] = (method, path, body, options = {}) =>
    t.request(method, path, { key: ws.key, ...options, ...(body !== undefined && { body }) });

  async function accepted(method: string, path: string, body?: unknown): Promise<ShownLink> {
    const reply = await call(method, path, body);
    assert.ok(reply.status < 300, `${method} ${path} ${JSON.stringify(body)}: ${reply.status} ${reply.text}`);
    return reply.json;
  }

  return {
    ws,
    call,
    get: (path) => accepted('GET', path),
    create: (body) => accepted('POST', '/links', { url: 'https://example.com', ...body }),
    update: (id, body) => accepted('PATCH', `/links/${id}`, body),
    upsert: (body) => accepted('PUT', '/links/upsert', body),
    async refused(status, field, method, path, body) {
      const reply = await call(method, path, body);
      assert.equal(reply.status, status, `${method} ${path} ${JSON.stringify(body)}: ${reply.text}`);
      if (field) assert.equal(reply.json.error.message.split(': ')[1], field, reply.text);
    },
    async domain(fields = {}) {
      domainsMade += 1;
      const slug = `go${domainsMade}.links.example`;
      return (await accepted('POST', '/domains', { slug, ...fields })).slug;
    },
    async newEvents() {
      const rows = await t.app.db.query
        .selectFrom('outbox')
        .selectAll()
        .where('workspace_id', '=', ws.id)
        .where('id', '>', lastEvent)
        .orderBy('id')
        .execute();
      lastEvent = rows.at(-1)?.id ?? lastEvent;
      return rows
        .filter((row) => row.type.startsWith('link.'))
        .map((row) => [row.type, JSON.parse(row.payload)]);
    },
  };
}
