// Calls on a partner program, for tests: short to write, and loud when an answer is not the one expected.
import assert from 'node:assert/strict';
import type { TestApp, TestReply, TestWorkspace } from './test-app.ts';

export interface ProgramCalls {
  readonly ws: TestWorkspace;
  readonly program: TestReply['json'];
  call(method: string, path: string, body?: unknown): Promise<TestReply>;
  get(path: string): Promise<TestReply['json']>;
  post(path: string, body?: unknown): Promise<TestReply['json']>;
  patch(path: string, body: unknown): Promise<TestReply['json']>;
  refused(
    status: number,
    field: string | undefined,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<void>;
  /** A new partner; each has an address of its own. */
  partner(more?: object): Promise<TestReply['json']>;
  /** Types and both forms of the outbox since the last look. */
  newEvents(): Promise<{ type: string; payload: TestReply['json']; webhook: TestReply['json'] }[]>;
}

let made = 0;

/** A workspace with a program that leads to https://acme.example/. */
export async function openProgram(
  t: TestApp,
  { plan = 'enterprise' as Parameters<TestApp['workspace']>[0] } = {},
): Promise<ProgramCalls> {
  const ws = await t.workspace(plan);
  let lastEvent = 0;
  const call: ProgramCalls['call'] = (method, path, body) =>
    t.request(method, path, { key: ws.key, ...(body !== undefined && { body }) });

  async function accepted(method: string, path: string, body?: unknown) {
    const reply = await call(method, path, body);
    assert.ok(reply.status < 300, `${method} ${path} ${JSON.stringify(body)}: ${reply.status} ${reply.text}`);
    return reply.json;
  }

  const program = await accepted('POST', '/programs', { name: 'Acme', url: 'https://acme.example/' });
  return {
    ws,
    program,
    call,
    get: (path) => accepted('GET', path),
    post: (path, body = {}) => accepted('POST', path, body),
    patch: (path, body) => accepted('PATCH', path, body),
    async refused(status, field, method, path, body) {
      const reply = await call(method, path, body);
      assert.equal(reply.status, status, `${method} ${path} ${JSON.stringify(body)}: ${reply.text}`);
      if (field) assert.equal(reply.json.error.message.split(': ')[1], field, reply.text);
    },
    partner: (more = {}) =>
      accepted('POST', '/partners', { email: `person${++made}@people.example`, ...more }),
    async newEvents() {
      const rows = await t.app.db.query
        .selectFrom('outbox')
        .selectAll()
        .where('workspace_id', '=', ws.id)
        .where('id', '>', lastEvent)
        .orderBy('id')
        .execute();
      lastEvent = rows.at(-1)?.id ?? lastEvent;
      return rows.map(({ type, payload, webhook }) => ({
        type,
        payload: JSON.parse(payload),
        webhook: webhook === null ? null : JSON.parse(webhook),
      }));
    },
  };
}
