import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ERROR_STATUS } from '../kernel/errors.ts';
import { allOperations } from '../operations.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';
import { openApiDocument } from './openapi.ts';
import type { Operation } from './operation.ts';

interface Described {
  operationId: string;
  tags: string[];
  summary: string;
  deprecated?: boolean;
  security: object[];
  parameters: {
    name: string;
    in: string;
    required: boolean;
    deprecated?: boolean;
    schema: Record<string, unknown>;
  }[];
  requestBody?: { required: boolean; content: Record<string, { schema: Record<string, unknown> }> };
  responses: Record<
    string,
    { $ref?: string; description?: string; content?: Record<string, { schema: unknown }> }
  >;
}

interface Document {
  openapi: string;
  info: { title: string; version: string };
  servers: { url: string }[];
  tags: { name: string }[];
  paths: Record<string, Record<string, Described>>;
  components: {
    schemas: Record<string, unknown>;
    responses: Record<string, unknown>;
    securitySchemes: Record<string, unknown>;
  };
}

describe('the OpenAPI document', () => {
  let t: TestApp;
  let operations: Operation[];
  let document: Document;
  let described: [path: string, method: string, Described][];
  before(async () => {
    t = await openTestApp();
    operations = allOperations(t.app.services);
    document = JSON.parse(JSON.stringify(openApiDocument(operations, 'https://a.example/api')));
    described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, value]) => [path, method, value] as [string, string, Described]),
    );
  });
  after(() => t.close());

  test('says its version, its name and where it is served', () => {
    assert.match(document.openapi, /^3\.1\.\d+$/);
    assert.ok(document.info.title && document.info.version);
    assert.deepEqual(document.servers, [{ url: 'https://a.example/api' }]);
  });

  test('has every operation once, under a unique id and a known group', () => {
    assert.equal(described.length, operations.length);
    assert.equal(new Set(described.map(([, , { operationId }]) => operationId)).size, described.length);
    const groups = new Set(document.tags.map((tag) => tag.name));
    for (const [, , { operationId, tags, summary }] of described) {
      assert.ok(tags.length === 1 && groups.has(tags[0] as string), operationId);
      assert.ok(summary.length > 0 && !summary.endsWith('.'), operationId);
    }
  });

  test('names every path parameter, and no two parameters of one place alike', () => {
    for (const [path, , { operationId, parameters }] of described) {
      const inPath = parameters.filter((parameter) => parameter.in === 'path');
      assert.deepEqual(
        inPath.map((parameter) => parameter.name),
        [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]),
        operationId,
      );
      assert.ok(
        inPath.every((parameter) => parameter.required),
        operationId,
      );
      const names = parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
      assert.equal(new Set(names).size, names.length, operationId);
      assert.ok(
        parameters.every((parameter) => ['path', 'query', 'header'].includes(parameter.in)),
        operationId,
      );
    }
  });

  test('gives bodies to writes only, and an Idempotency-Key to what is run once', () => {
    for (const [, method, { operationId, requestBody, parameters, security }] of described) {
      if (['get', 'delete'].includes(method)) assert.equal(requestBody, undefined, operationId);
      const header = parameters.some((parameter) => parameter.name === 'Idempotency-Key');
      assert.equal(header, ['post', 'put', 'patch'].includes(method) && security.length > 0, operationId);
    }
  });

  test('lists one success and the nine errors for every operation', () => {
    for (const [, , { operationId, responses }] of described) {
      const statuses = Object.keys(responses);
      const success = statuses.filter((status) => status.startsWith('2'));
      assert.equal(success.length, 1, operationId);
      assert.ok(responses[success[0] as string]?.description, operationId);
      assert.deepEqual(
        statuses.filter((status) => !success.includes(status)).map(Number),
        Object.values(ERROR_STATUS),
        operationId,
      );
    }
  });

  test('refers to nothing that it does not have', () => {
    for (const [, pointer] of JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)) {
      assert.match(pointer as string, /^#\//);
      const steps = (pointer as string).slice(2).split('/');
      const target = steps.reduce<unknown>(
        (here, step) => (here as Record<string, unknown> | undefined)?.[step],
        document,
      );
      assert.ok(target, pointer);
    }
  });

  test('has no schema without meaning for a body or a parameter', () => {
    for (const [, , { operationId, parameters, requestBody }] of described) {
      for (const { name, schema } of parameters)
        assert.ok(Object.keys(schema).length > 0, `${operationId} ${name}`);
      const schema = requestBody?.content['application/json']?.schema;
      if (requestBody) assert.ok(schema && Object.keys(schema).length > 0, operationId);
    }
  });

  test('does not call an operation deprecated', () => {
    assert.deepEqual(
      described.filter(([, , { deprecated }]) => deprecated).map(([, , { operationId }]) => operationId),
      [],
    );
  });

  test('is served at the root and as openapi.json, with an address that fits the one that was used', async () => {
    const [root, file] = [await t.request('GET', ''), await t.request('GET', '/openapi.json')];
    assert.equal(root.status, 200);
    assert.equal(root.text, file.text);
    assert.equal(
      new URL(root.json.servers[0].url, 'http://localhost:3000/').href,
      'http://localhost:3000/api',
    );
    assert.deepEqual(root.json.paths, document.paths);
  });
});

describe('pages about the API', () => {
  let t: TestApp;
  before(async () => {
    t = await openTestApp();
  });
  after(() => t.close());

  test('the page behind doc_url has one anchor per code', async () => {
    const { status, text, headers } = await t.request('GET', '/errors');
    assert.equal(status, 200);
    assert.match(headers.get('content-type') ?? '', /^text\/html/);
    const anchors = [...text.matchAll(/ id="([^"]+)"/g)].map((match) => match[1]);
    assert.deepEqual(
      anchors,
      Object.keys(ERROR_STATUS).map((code) => code.replaceAll('_', '-')),
    );
    const { error } = (await t.request('GET', '/tags')).json;
    const { pathname, hash } = new URL(error.doc_url);
    assert.equal(pathname, '/api/errors');
    assert.ok(anchors.includes(hash.slice(1)));
  });

  test('no page and no script of ours names an outside address, and policies forbid one', async () => {
    for (const path of ['/errors', '/reference', '/reference/start.js']) {
      const { status, text, headers } = await t.request('GET', path);
      assert.equal(status, 200, path);
      assert.doesNotMatch(text, /https?:\/\//, path);
      assert.doesNotMatch(text, /(src|href)="\/\//, path);
      assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
      if (path.endsWith('.js')) continue;
      const policy = headers.get('content-security-policy') ?? '';
      assert.match(policy, /default-src 'none'/, path);
      assert.doesNotMatch(policy, /https?:|\*/, path);
    }
  });

  test('everything that the reference page loads is served here', async () => {
    const { text } = await t.request('GET', '/reference');
    const files = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] as string);
    assert.ok(files.length >= 3);
    for (const file of files) {
      const reply = await t.request('GET', `/${file}`);
      assert.equal(reply.status, 200, file);
      assert.match(
        reply.headers.get('content-type') ?? '',
        file.endsWith('.css') ? /^text\/css/ : /^text\/javascript/,
      );
      assert.ok(reply.text.length > 100, file);
    }
  });
});
