import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, test } from 'node:test';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { AppError } from '../kernel/errors.ts';
import { customerOf, publicData } from './payloads.ts';
import { requestBody } from './receivers.ts';
import { signatureHeaders } from './sign.ts';
import {
  assertScope,
  type ClickScope,
  newSecret,
  pauseMs,
  readRetryAfterMs,
  retryDelayMs,
  secretsOf,
  TRIGGERS,
  type Webhook,
} from './webhook.ts';

const NOW = Date.UTC(2027, 0, 15, 10);

describe('the wait after a failure', () => {
  test('grows from seconds to a day', () => {
    const waits = [1, 2, 3, 4, 5, 6, 20].map((attempt) => Math.floor(retryDelayMs(attempt, () => 0) / 1_000));
    assert.deepEqual(waits, [12, 148, 1_808, 22_026, 86_400, 86_400, 86_400]);
  });

  test('is spread by a tenth at most', () => {
    assert.equal(
      retryDelayMs(5, () => 0.999999) <= 86_400_000 * 1.1 && retryDelayMs(5, () => 0.5) > 86_400_000,
      true,
    );
  });

  test('of a whole receiver adds up to most of a day before the twentieth failure', () => {
    const pauses = Array.from({ length: 19 }, (_, i) => pauseMs(i + 1));
    const hours = pauses.reduce((sum, ms) => sum + ms, 0) / 3_600_000;
    assert.ok(hours > 14 && hours < 24, `${hours} hours`);
    assert.equal(pauseMs(0), 0);
  });

  for (const [header, expected] of [
    ['120', 120_000],
    [' 5 ', 5_000],
    ['Fri, 15 Jan 2027 10:01:00 GMT', 60_000],
    ['999999999', 86_400_000],
    ['Thu, 01 Jan 1970 00:00:00 GMT', undefined],
    ['-5', undefined],
    ['soon', undefined],
    ['', undefined],
    [undefined, undefined],
  ] as const) {
    test(`Retry-After ${header} asks for ${expected}`, () =>
      assert.equal(readRetryAfterMs(header, NOW), expected));
  }
});

describe('the scope of clicks', () => {
  const scope = (fields: Partial<ClickScope>): ClickScope => ({
    triggers: ['link.clicked'],
    linkScope: 'workspace',
    linkIds: [],
    folderIds: [],
    ...fields,
  });
  const refusal = (fields: Partial<ClickScope>) => {
    try {
      assertScope(scope(fields));
    } catch (error) {
      assert.ok(error instanceof AppError && error.status === 422);
      return error.message.split(': ')[1];
    }
    return undefined;
  };
  for (const [what, fields, field] of [
    ['all links', {}, undefined],
    ['single links', { linkScope: 'links', linkIds: ['a'] }, undefined],
    ['folders', { linkScope: 'folders', folderIds: ['a'] }, undefined],
    ['nothing, without the trigger', { triggers: ['sale.created'], linkScope: null }, undefined],
    ['a trigger without a scope', { linkScope: null }, 'triggers'],
    ['a scope without the trigger', { triggers: ['sale.created'] }, 'linkScope'],
    ['no links', { linkScope: 'links' }, 'linkIds'],
    ['no folders', { linkScope: 'folders' }, 'folderIds'],
    ['links beside all', { linkIds: ['a'] }, 'linkIds'],
    ['folders beside links', { linkScope: 'links', linkIds: ['a'], folderIds: ['b'] }, 'folderIds'],
  ] as const satisfies [string, Partial<ClickScope>, string | undefined][]) {
    test(`${what}: ${field ? `refused by ${field}` : 'fine'}`, () => assert.equal(refusal(fields), field));
  }
});

describe('signatures', () => {
  const body = '{"id":"evt_1","event":"link.created","data":{"title":"Grüße 👋"}}';
  const atMs = Date.now();

  test('hold in both schemes, with the secret in the form that is shown', () => {
    const secret = newSecret();
    assert.match(secret, /^whsec_[0-9a-f]{32}$/);
    const headers = signatureHeaders({ id: 'evt_1', body, atMs, secrets: [secret] });
    assert.equal(headers['Dub-Signature'], createHmac('sha256', secret).update(body).digest('hex'));
    assert.deepEqual(new StandardWebhook(secret).verify(body, headers), JSON.parse(body));
    assert.throws(() => new StandardWebhook(newSecret()).verify(body, headers));
    assert.throws(() => new StandardWebhook(secret).verify(`${body} `, headers));
  });

  test('hold for both secrets while one follows the other, the old scheme for the new one', () => {
    const [now, before] = [newSecret(), newSecret()];
    const headers = signatureHeaders({ id: 'evt_1', body, atMs, secrets: [now, before] });
    for (const secret of [now, before]) new StandardWebhook(secret).verify(body, headers);
    assert.equal(headers['Dub-Signature'], createHmac('sha256', now).update(body).digest('hex'));
  });

  test('are made with imported secrets of any form', () => {
    const headers = signatureHeaders({ id: 'evt_1', body, atMs, secrets: ['not base64!'] });
    new StandardWebhook('not base64!', { format: 'raw' }).verify(body, headers);
  });

  test('of the former secret end with the overlap', () => {
    const webhook = { secret: 'b', previousSecret: 'a', previousSecretUntil: NOW } as Webhook;
    assert.deepEqual(secretsOf(webhook, NOW - 1), ['b', 'a']);
    assert.deepEqual(secretsOf(webhook, NOW), ['b']);
  });
});

describe('what leaves the product', () => {
  const change = (type: string, webhook: string | null = null) =>
    publicData({ workspaceId: 'ws_1', type, payload: '{"inside":1}', webhook });

  test('is in the table of events and nowhere else', () => {
    for (const type of [
      'tag.created',
      'customer.erased',
      'workspace.updated',
      'links.imported',
      'link.clicked',
    ])
      assert.equal(change(type, '{}'), undefined, type);
  });

  test('of links is the change itself, of all else only what was written for receivers', () => {
    for (const trigger of TRIGGERS.filter((name) => name !== 'link.clicked')) {
      const own = trigger.startsWith('link.') ? { trigger, data: '{"inside":1}' } : undefined;
      assert.deepEqual(change(trigger), own, trigger);
      assert.deepEqual(change(trigger, '{"told":1}'), { trigger, data: '{"told":1}' }, trigger);
    }
  });

  test('knows whom it tells about', () => {
    assert.equal(customerOf('{"customer":{"id":"cus_1"}}'), 'cus_1');
    for (const data of ['{"customer":null}', '{"x":{"customer":{"id":"cus_1"}}}', '{}'])
      assert.equal(customerOf(data), undefined, data);
  });
});

describe('receivers with a form of their own', () => {
  const link = {
    id: 'link_1',
    shortLink: 'https://go.example/a',
    url: 'https://example.com/?a=1&b=<!channel>',
  };
  const envelope = (event: string, data: object) =>
    JSON.stringify({ id: 'evt_1', event, createdAt: '2027-01-15T10:00:00.000Z', data });

  test('others get the envelope as it is', () => {
    const body = envelope('link.created', link);
    assert.equal(requestBody('https://example.com/hooks.slack.com', body), body);
  });

  test('Slack gets a message, in which nobody is called', () => {
    const sent = JSON.parse(
      requestBody('https://hooks.slack.com/services/1', envelope('link.created', link)),
    );
    assert.equal(sent.text, 'A link was created');
    const { text } = sent.blocks[0].text;
    assert.match(text, /\*Link:\* https:\/\/go\.example\/a/);
    assert.ok(text.includes('&lt;!channel&gt;') && !text.includes('<!channel>'));
    const sale = {
      eventName: 'Paid',
      link,
      sale: { amount: 4900, currency: 'usd' },
      customer: { email: 'a@b.c' },
    };
    const told = JSON.parse(requestBody('https://hooks.slack.com/x', envelope('sale.created', sale)));
    assert.match(told.blocks[0].text.text, /\*Amount:\* 49\.00 USD/);
    for (const event of TRIGGERS)
      assert.ok(JSON.parse(requestBody('https://hooks.slack.com/x', envelope(event, {}))).text, event);
  });

  test('Segment gets an event of the customer, or of a visitor without a name', () => {
    const send = (data: object) =>
      JSON.parse(requestBody('https://key@api.segment.io/v1/track', envelope('lead.created', data)));
    const known = send({ customer: { id: 'cus_1', externalId: 'u_42' }, click: { id: 'c1' } });
    assert.deepEqual(
      [known.type, known.event, known.userId, known.messageId, known.timestamp, known.properties.trigger],
      ['track', 'A new lead', 'u_42', 'evt_1', '2027-01-15T10:00:00.000Z', 'lead.created'],
    );
    assert.equal(send({ click: { id: 'c1' } }).anonymousId, 'c1');
    assert.equal(send({}).anonymousId, 'evt_1');
  });
});
