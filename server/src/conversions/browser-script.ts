// The script that pages load, as one file under all the names that its loaders ask for: what a page does not
// configure does nothing, so there is no need for several.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const FILE = join(import.meta.dirname, '../../browser/script.min.js');
const FEATURES = ['site-visit', 'outbound-domains', 'conversion-tracking'];
/** A new release reaches pages within an hour. */
const CACHE = 'public, max-age=3600, stale-while-revalidate=86400';

interface Script {
  readonly plain: Buffer;
  readonly compressed: Buffer;
  readonly etag: string;
}

interface ScriptRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

interface ScriptPage {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** By path. */
export function browserScriptPages(): [string, (request: ScriptRequest) => Promise<ScriptPage>][] {
  let script: Script | undefined;
  const show = async ({ headers }: ScriptRequest) => {
    script ??= readScript();
    return present(script, headers);
  };
  return scriptNames().map((name) => [`/${name}`, show]);
}

/** Every combination of the features, in their order. */
export function scriptNames(): string[] {
  const endings = FEATURES.reduce<string[]>(
    (names, feature) => names.flatMap((name) => [name, `${name}.${feature}`]),
    [''],
  );
  return endings.map((ending) => `script${ending}.js`);
}

function readScript(): Script {
  const plain = readFileSync(FILE);
  const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`;
  return { plain, compressed: gzipSync(plain), etag };
}

function present({ plain, compressed, etag }: Script, headers: ScriptRequest['headers']): ScriptPage {
  const page = {
    contentType: 'text/javascript; charset=utf-8',
    headers: {
      ETag: etag,
      'Cache-Control': CACHE,
      Vary: 'Accept-Encoding',
      'Access-Control-Allow-Origin': '*',
      'Cross-Origin-Resource-Policy': 'cross-origin',
      'X-Content-Type-Options': 'nosniff',
    },
  };
  const tags = String(headers['if-none-match'] ?? '').split(',');
  const known = tags.some((tag) => tag.trim().replace(/^W\//, '') === etag);
  if (known) return { ...page, status: 304, body: Buffer.alloc(0) };
  if (!/\bgzip\b/.test(String(headers['accept-encoding'] ?? '')))
    return { ...page, status: 200, body: plain };
  return {
    ...page,
    status: 200,
    body: compressed,
    headers: { ...page.headers, 'Content-Encoding': 'gzip' },
  };
}
