// Stripe for tests: events as it sends them, signed, and a server that answers as its API does.
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import Stripe from 'stripe';
import type { TestApp, TestReply } from './test-app.ts';

export const STRIPE_SECRET = 'whsec_abcdefghijklmnopqrstuvwx';
export const STRIPE_KEY = 'rk_test_abcdefghijklmnopqrstuvwx';
const { webhooks } = new Stripe('sk_test_unused');

let made = 0;
export const newId = (prefix: string): string => `${prefix}_${++made}`;

export function stripeEvent(type: string, object: object, previous?: object): string {
  const data = { object, ...(previous && { previous_attributes: previous }) };
  const envelope = { id: newId('evt'), object: 'event', api_version: '2026-01-01', type, data };
  return JSON.stringify(envelope, null, 2);
}

export const session = (fields: object) => ({
  id: newId('cs'),
  object: 'checkout.session',
  payment_status: 'paid',
  currency: 'usd',
  customer: newId('cus_stripe'),
  customer_details: { email: 'ada@acme.example', name: 'Ada Ray' },
  invoice: null as string | null,
  payment_intent: newId('pi') as string | null,
  metadata: {},
  ...fields,
});

export const invoice = (fields: object) => ({
  id: newId('in'),
  object: 'invoice',
  currency: 'usd',
  billing_reason: 'subscription_cycle',
  customer: null as string | null,
  metadata: {},
  ...fields,
});

export const charge = (fields: object) => ({
  id: newId('ch'),
  object: 'charge',
  refunded: false,
  ...fields,
});

/** Sends events to the address of a workspace. */
export function stripeOf(t: TestApp, workspaceId: string) {
  function send(body: string, secret = STRIPE_SECRET, atMs = t.clock.now()): Promise<TestReply> {
    return t.request('POST', `/stripe/webhook/${workspaceId}`, {
      body,
      headers: { 'stripe-signature': signature(body, secret, atMs) },
    });
  }
  return {
    send,
    async receive(body: string): Promise<{ recorded: string[]; ignored: string[] }> {
      const reply = await send(body);
      assert.equal(reply.status, 200, reply.text);
      return reply.json;
    },
  };
}

export function signature(payload: string, secret: string, atMs: number): string {
  return webhooks.generateTestHeaderString({ payload, secret, timestamp: Math.floor(atMs / 1000) });
}

export interface FakeStripe {
  readonly url: string;
  /** Path and query of what was asked, in order. */
  readonly asked: string[];
  /** By the id of the customer, the newest first. */
  readonly invoices: Map<string, object[]>;
  /** By path. */
  readonly objects: Map<string, object>;
  /** Statuses of the next answers, instead of what was asked for. */
  readonly failures: number[];
  close(): Promise<void>;
}

/** Knows one key. */
export async function openFakeStripe(): Promise<FakeStripe> {
  const asked: string[] = [];
  const invoices: FakeStripe['invoices'] = new Map();
  const objects: FakeStripe['objects'] = new Map();
  const failures: number[] = [];

  function answer(request: IncomingMessage): { status: number; body: object } {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://stripe.invalid');
    asked.push(request.url ?? '');
    if (request.headers.authorization !== `Bearer ${STRIPE_KEY}`) return { status: 401, body: {} };
    const failed = failures.shift();
    if (failed !== undefined) return { status: failed, body: { error: { type: 'api_error' } } };
    if (pathname === '/v1/invoices') return { status: 200, body: pageOf(searchParams) };
    const object = objects.get(pathname);
    return object ? { status: 200, body: object } : { status: 404, body: {} };
  }

  function pageOf(query: URLSearchParams): object {
    const all = invoices.get(query.get('customer') ?? '') as { id: string }[] | undefined;
    const after = query.get('starting_after');
    const from = after === null ? 0 : (all?.findIndex(({ id }) => id === after) ?? 0) + 1;
    const data = (all ?? []).slice(from, from + Number(query.get('limit')));
    return { object: 'list', data, has_more: from + data.length < (all?.length ?? 0) };
  }

  const server = createServer((request, response) => {
    const { status, body } = answer(request);
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    invoices,
    objects,
    failures,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
