// The OpenAPI 3.1 document, made from the operations and nothing else.
import { z } from 'zod';
import { ERROR_STATUS, type ErrorCode } from '../kernel/errors.ts';
import { ERROR_MEANING } from './error-page.ts';
import type { Operation } from './operation.ts';

type Json = Record<string, unknown>;

const IDEMPOTENCY_HEADER = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Any text of up to 255 characters, unique to this request. A repeat with the same key and body gets the first answer again.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

export function openApiDocument(operations: readonly Operation[], server: string): Json {
  const { paths, schemas } = shareSchemas(describeAll(operations));
  return {
    openapi: '3.1.0',
    info: {
      title: 'Linktrail API',
      version: '0.0.1',
      description: 'Short links, conversions, analytics and partner programs behind one HTTP API.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: server }],
    tags: [...new Set(operations.map((operation) => operation.group))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key of a workspace.' } },
      schemas: { Error: errorSchema(), ...schemas },
      responses: errorResponses(),
    },
  };
}

function describeAll(operations: readonly Operation[]): Record<string, Json> {
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const method = operation.method.toLowerCase();
    paths[operation.path] = { ...paths[operation.path], [method]: describe(operation) };
  }
  return paths;
}

/** Schemas that have a name stand once, under components; every use refers to them. */
function shareSchemas(described: Record<string, Json>): { paths: Json; schemas: Json } {
  const schemas: Json = {};
  const text = JSON.stringify(described, (key, value) => {
    if (key !== '$defs') return value;
    Object.assign(schemas, value);
    return undefined;
  });
  const refer = (json: string): Json => JSON.parse(json.replaceAll('#/$defs/', '#/components/schemas/'));
  return { paths: refer(text), schemas: refer(JSON.stringify(schemas)) };
}

function describe(operation: Operation): Json {
  const { access } = operation;
  return {
    operationId: operation.id,
    tags: [operation.group],
    summary: operation.summary,
    description: [operation.description, needs(operation)].filter(Boolean).join('\n\n'),
    security: access.by === 'nobody' ? [] : [{ key: [] }],
    parameters: [
      ...parameters(operation.params, 'path'),
      ...parameters(operation.query, 'query'),
      ...(operation.method === 'GET' || operation.method === 'DELETE' || access.by === 'nobody'
        ? []
        : [IDEMPOTENCY_HEADER]),
    ],
    ...(operation.body && {
      requestBody: { required: !operation.bodyOptional, content: json(schemaOf(operation.body, 'input')) },
    }),
    responses: {
      [operation.response.status]: {
        description: operation.response.description,
        content: content(operation),
      },
      ...Object.fromEntries(
        Object.entries(ERROR_STATUS).map(([code, status]) => [
          status,
          { $ref: `#/components/responses/${code}` },
        ]),
      ),
    },
  };
}

function needs({ access }: Operation): string {
  if (access.by === 'nobody') return 'Needs no key.';
  if (access.by !== 'key') {
    const what =
      access.by === 'embed_token' ? 'an embed token of a partner' : 'the publishable key of the workspace';
    return `Needs ${what}${access.plan ? ` and the plan ${access.plan} or higher` : ''}.`;
  }
  const parts = [
    access.permission && `the permission \`${access.permission}\``,
    access.roles && `one of the roles ${access.roles.join(', ')}`,
    access.plan && access.plan !== 'free' && `the plan ${access.plan} or higher`,
  ].filter(Boolean);
  return parts.length ? `Needs ${parts.join(' and ')}.` : 'Needs any valid key.';
}

function parameters(schema: z.ZodObject | undefined, place: 'path' | 'query'): Json[] {
  if (!schema) return [];
  const object = schemaOf(schema, 'input') as { properties?: Record<string, Json>; required?: string[] };
  return Object.entries(object.properties ?? {}).map(([name, { description, deprecated, ...rest }]) => ({
    name,
    in: place,
    required: place === 'path' || (object.required ?? []).includes(name),
    ...(description !== undefined && { description }),
    ...(deprecated === true && { deprecated }),
    schema: rest,
    // Lists may be given as a,b or by repeating the name; the document shows the repeated form.
    ...(rest.type === 'array' && { style: 'form', explode: true }),
  }));
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Json;
  return rest;
}

function content({ response }: Operation): Json {
  if (!response.contentTypes) return json(schemaOf(response.schema, 'output'));
  const file = { schema: { type: 'string', format: 'binary' } };
  return Object.fromEntries(response.contentTypes.map((type) => [type, file]));
}

function json(schema: Json): Json {
  return { 'application/json': { schema } };
}

function errorSchema(): Json {
  return {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['code', 'message', 'doc_url'],
        properties: {
          code: { type: 'string', enum: Object.keys(ERROR_STATUS) },
          message: { type: 'string', description: 'For people: what was wrong, and where.' },
          doc_url: { type: 'string', format: 'uri', description: 'A page that explains the code.' },
        },
      },
    },
  };
}

function errorResponses(): Json {
  return Object.fromEntries(
    (Object.keys(ERROR_STATUS) as ErrorCode[]).map((code) => [
      code,
      { description: ERROR_MEANING[code].what, content: json({ $ref: '#/components/schemas/Error' }) },
    ]),
  );
}
