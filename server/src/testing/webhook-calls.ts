// Calls on webhooks, for tests: short to write, and loud when an answer is not the one expected.
import assert from 'node:assert/strict';
import { type LinkCalls, linkCalls } from './link-calls.ts';
import type { TestApp, TestReply, TestWorkspace } from './test-app.ts';

/** Receivers of tests are on this machine. */
export const RECEIVERS_ALLOWED = { LINKTRAIL_ALLOW_PRIVATE: '127.0.0.1' };

/** A webhook or a delivery as an answer shows it. */
export type Shown = TestReply['json'];

export interface WebhookCalls extends Pick<LinkCalls, 'ws' | 'call' | 'get' | 'refused'> {
  readonly links: LinkCalls;
  create(body: Record<string, unknown>): Promise<Shown>;
  update(id: string, body: Record<string, unknown>): Promise<Shown>;
  /** A POST that is accepted. */
  post(path: string, body?: unknown): Promise<Shown>;
  deliveries(id: string, query?: string): Promise<Shown[]>;
  /** Lets everything that has happened reach the queue, and delivers what is due by the clock of the test. */
  deliver(): Promise<void>;
}

let made = 0;

export function webhookCalls(t: TestApp, ws: TestWorkspace): WebhookCalls {
  const links = linkCalls(t, ws);
  const { call, get, refused } = links;

  async function accepted(method: string, path: string, body?: unknown): Promise<Shown> {
    const reply = await call(method, path, body);
    assert.ok(reply.status < 300, `${method} ${path} ${JSON.stringify(body)}: ${reply.status} ${reply.text}`);
    return reply.json;
  }

  return {
    ws,
    links,
    call,
    get,
    refused,
    create(body) {
      made += 1;
      const url = `https://8.8.8.8/${made}`;
      return accepted('POST', '/webhooks', { name: 'Hook', url, triggers: ['link.created'], ...body });
    },
    update: (id, body) => accepted('PATCH', `/webhooks/${id}`, body),
    post: (path, body) => accepted('POST', path, body),
    deliveries: (id, query = '') => get(`/webhooks/${id}/deliveries${query}`),
    async deliver() {
      await t.app.events.relay();
      await t.app.services.webhookFlow.run();
    },
  };
}
