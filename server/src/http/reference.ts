// Documents the API serves about itself: the OpenAPI description, the page behind error links, and the
// interactive reference (Swagger UI, from its package, so that no outside resource is needed).
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { API_BASE, type Document } from './api.ts';
import { errorPage } from './error-page.ts';
import { openApiDocument } from './openapi.ts';
import type { Operation } from './operation.ts';

const HTML = 'text/html; charset=utf-8';
const SAFE_HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
};
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";
const REFERENCE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'";

const REFERENCE_PAGE = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>Linktrail API reference</title><link rel="stylesheet" href="reference/swagger-ui.css"></head><body><div id="reference"></div><script src="reference/swagger-ui-bundle.js"></script><script src="reference/start.js"></script></body></html>`;

const START_SCRIPT = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#reference', deepLinking: true, persistAuthorization: false, validatorUrl: null, displayRequestDuration: true, tryItOutEnabled: true });`;

export function referenceDocuments(operations: readonly Operation[]): Document[] {
  // Made once, at the first request for it: it is the same for everybody.
  let made: string | undefined;
  const description = () => {
    made ??= JSON.stringify(openApiDocument(operations, API_BASE));
    return made;
  };
  const page = (path: string, body: string, policy: string): Document => ({
    path,
    contentType: HTML,
    headers: { ...SAFE_HEADERS, 'Content-Security-Policy': policy },
    body: () => body,
  });
  return [
    { path: '/', contentType: 'application/json', body: description },
    { path: '/openapi.json', contentType: 'application/json', body: description },
    page('/errors', errorPage(), PAGE_POLICY),
    page('/reference', REFERENCE_PAGE, REFERENCE_POLICY),
    asset('/reference/start.js', 'text/javascript; charset=utf-8', () => Buffer.from(START_SCRIPT)),
    asset('/reference/swagger-ui.css', 'text/css; charset=utf-8', () => packaged('swagger-ui.css')),
    asset('/reference/swagger-ui-bundle.js', 'text/javascript; charset=utf-8', () =>
      packaged('swagger-ui-bundle.js'),
    ),
  ];
}

/** Read at first use and kept: most servers never show the page. */
function asset(path: string, contentType: string, load: () => Buffer<ArrayBuffer>): Document {
  let body: Buffer<ArrayBuffer> | undefined;
  return {
    path,
    contentType,
    headers: { ...SAFE_HEADERS, 'Cache-Control': 'public, max-age=3600' },
    body: () => {
      body ??= load();
      return body;
    },
  };
}

function packaged(file: string): Buffer<ArrayBuffer> {
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  return readFileSync(join(folder, file));
}
