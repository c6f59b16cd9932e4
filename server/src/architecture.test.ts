// Keeps the shape of the code: who may import whom, where drivers, time, randomness and the environment may
// be touched, and what may be installed. The tables come first; each rule then holds for the repository and
// is shown to fail on a small example.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  checkCycles,
  checkDirections,
  checkDrivers,
  checkForbiddenImports,
  checkNames,
  checkNoDefaultExports,
  checkReach,
  checkStores,
  checkSyntax,
  checkUses,
  checkWords,
  type Direction,
  type Driver,
  type ReachRule,
  type UseRule,
} from '../../scripts/architecture.ts';
import {
  checkArchitectures,
  checkLicences,
  checkLockComplete,
  checkNoRegistry,
  checkPinned,
  type LockFile,
  type PackageFile,
} from '../../scripts/package-rules.ts';
import { parseSource, type Source } from '../../scripts/source-model.ts';

// From left to right: a feature may use those to its left. What it needs from its right it takes as a
// parameter, and app.ts passes it in.
const FEATURES = [
  'access',
  'workspaces',
  'files',
  'domains',
  'tags',
  'folders',
  'links',
  'qr',
  'customers',
  'partners',
  'analytics',
  'conversions',
  'payments',
  'webhooks',
  'dump',
  'demo',
];
const ALL_FEATURES = FEATURES.map((name) => `${name}/*`);
const FEATURE_BASE = ['kernel/*', 'db/*', 'events/*', 'http/operation.ts', 'http/pagination.ts'];
// What starts the product knows the composed app and little else.
const STARTING = [
  'app.ts',
  'config.ts',
  'operations.ts',
  'launcher.ts',
  'serve.ts',
  'first-workspace.ts',
  'cli/*',
];

const DIRECTIONS: Direction[] = [
  { from: 'kernel/*', to: [] },
  { from: 'events/*', to: ['kernel/*'] },
  { from: 'db/outbox*', to: ['kernel/*', 'events/*'] },
  { from: 'db/*', to: ['kernel/*'] },
  { from: 'http/*', to: ['kernel/*'] },
  ...FEATURES.map((name, i) => ({
    from: `${name}/*`,
    to: [...FEATURE_BASE, ...ALL_FEATURES.slice(0, i)],
  })),
  // Behind the journal: it feeds the stores, and knows of SQL only what app.ts hands to it.
  { from: 'pipeline/*', to: ['kernel/*', 'events/*', 'db/*', 'analytics/*'] },
  {
    from: 'redirect/*',
    to: [
      'kernel/*',
      'events/*',
      'links/link.ts',
      'links/link-key.ts',
      'links/link-snapshot.ts',
      'links/visit-link.ts',
    ],
  },
  { from: 'config.ts', to: ['kernel/*', 'http/host.ts', 'http/peer.ts'] },
  { from: 'launcher.ts', to: [] },
  {
    from: 'operations.ts',
    to: ['kernel/*', 'http/operation.ts', '*.api.ts'],
    typesTo: ALL_FEATURES,
  },
  { from: 'app.ts', to: ['*'] },
  {
    from: 'services.ts',
    to: ['kernel/*', 'db/*', ...ALL_FEATURES],
    typesTo: ['config.ts', 'operations.ts', 'visits.ts'],
  },
  // Parts of the composition, each for app.ts alone.
  {
    from: 'edge.ts',
    to: ['kernel/*', 'http/*', 'db/*', 'operations.ts'],
    typesTo: ['config.ts', 'access/*'],
  },
  { from: 'recurring-jobs.ts', to: ['db/*'], typesTo: ['kernel/*', 'operations.ts'] },
  {
    from: 'event-flow.ts',
    to: ['kernel/*', 'events/*', 'db/sink-offset.ts', 'pipeline/*'],
    typesTo: ['config.ts', 'db/*', 'http/*', 'visits.ts'],
  },
  { from: 'event-rows.ts', to: [], typesTo: ['pipeline/*'] },
  {
    from: 'visits.ts',
    to: ['kernel/*', 'events/*', 'http/host.ts', 'links/*', 'redirect/*'],
    typesTo: ['config.ts', 'db/*', 'domains/*', 'http/*'],
  },
  { from: 'first-workspace.ts', to: ['kernel/*'], typesTo: ['config.ts', 'operations.ts', 'workspaces/*'] },
  { from: 'serve.ts', to: [...STARTING, 'kernel/*'] },
  { from: 'main.ts', to: [...STARTING, 'kernel/*'] },
  { from: 'cli.ts', to: [...STARTING, 'kernel/*', 'db/*', 'http/*', 'events/*', ...ALL_FEATURES] },
  { from: 'cli/*', to: [...STARTING, 'kernel/*', 'db/*', 'http/*', 'events/*', ...ALL_FEATURES] },
];

const FORBIDDEN: Direction[] = [
  { from: 'app.ts', to: ['main.ts', 'serve.ts', 'cli.ts', 'cli/*'] },
  // A store never sees rights.
  { from: '*.store.ts', to: ['access/*'] },
];

const DRIVERS: Driver[] = [
  { packages: ['hono', '@hono/node-server'], within: ['http/*'] },
  ...[
    'pg',
    'node:sqlite',
    'pino',
    'prom-client',
    'selfsigned',
    'swagger-ui-dist',
    '@duckdb/node-api',
    '@clickhouse/client',
    'redis',
    'chrono-node',
    'isbot',
    'ua-parser-js',
    'maxmind',
    'qrcode',
    'pngjs',
    'htmlparser2',
    'standardwebhooks',
    'dub',
  ].map((name) => ({ packages: [name] })),
];

const TESTS = ['*.test.ts', '*.contract.ts', '*.bench.ts', 'testing/*'];
const USES: UseRule[] = [
  { uses: ['any'], allowedIn: [] },
  { uses: ['process.env'], allowedIn: ['config.ts', ...TESTS] },
  { uses: ['Date.now', 'new Date()', 'Math.random', 'crypto.*'], allowedIn: ['kernel/*', ...TESTS] },
  { uses: ['console'], allowedIn: ['cli.ts', 'cli/*'] },
];
const TOOL_USES: UseRule[] = [{ uses: ['any', 'console'], allowedIn: [] }];

const REACH: ReachRule[] = [
  {
    from: 'redirect/*',
    packages: [
      'pg',
      'node:sqlite',
      'kysely',
      'hono',
      '@hono/node-server',
      '@duckdb/node-api',
      '@clickhouse/client',
    ],
  },
];

// Places outside the repository that a reader could not open. Written so that this file does not match.
const WORDS = [/\/work\b\//, /(?<![\w./-])shared\b\//];

const root = join(import.meta.dirname, '..', '..');
const TEXT_FILES = '**/*.{ts,tsx,mjs,js,json,md,sql,css,html,yml,yaml,sh}';
const GENERATED = /(^|\/)(node_modules|data|dist)(\/|$)/;

function listFiles(pattern: string, folder = root): string[] {
  return globSync(pattern, { cwd: folder, exclude: (path) => GENERATED.test(path) }).sort();
}

function load(folder: string, pattern = '**/*.ts'): Source[] {
  return listFiles(pattern, folder).map((path) =>
    parseSource({ path, text: readFileSync(join(folder, path), 'utf8') }),
  );
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(join(root, path), 'utf8')) as T;
}

/** Sources from a few lines of code, for showing that a rule bites. */
function fixture(files: Record<string, string>): Source[] {
  return Object.entries(files).map(([path, text]) => parseSource({ path, text }));
}

function assertNone(violations: string[]): void {
  assert.equal(violations.join('\n'), '');
}

const server = load(join(root, 'server', 'src'));
const tools = load(root, '{scripts,bench}/**/*.ts');

describe('the repository', () => {
  test('is read at all', () => {
    assert.ok(server.some((source) => source.path === 'architecture.test.ts'));
    assert.ok(tools.some((source) => source.path === 'scripts/architecture.ts'));
    assertNone(checkSyntax([...server, ...tools]));
  });
  test('imports only in the allowed directions', () => {
    assertNone([...checkDirections(server, DIRECTIONS), ...checkForbiddenImports(server, FORBIDDEN)]);
  });
  test('keeps each store to its own folder and the composition root', () => {
    assertNone(checkStores(server, ['app.ts', 'services.ts']));
  });
  test('has no import cycle at run time', () => assertNone([...checkCycles(server), ...checkCycles(tools)]));
  test('imports each driver in one place', () => assertNone(checkDrivers(server, DRIVERS)));
  test('reads environment, time and chance only where they belong, and has no any and no console', () => {
    assertNone([...checkUses(server, USES), ...checkUses(tools, TOOL_USES)]);
  });
  test('loads no database and no web framework for a redirect', () => assertNone(checkReach(server, REACH)));
  test('names files for what they hold', () => {
    assertNone(checkNames([...server, ...tools].map((source) => source.path)));
  });
  test('has no default exports', () => assertNone(checkNoDefaultExports([...server, ...tools])));
  test('mentions nothing that a reader cannot open', () => {
    const files = [
      ...listFiles(TEXT_FILES),
      ...listFiles('{.*,.ci/*,LICENSE}').filter((path) => path !== '.git'),
    ];
    const texts = files
      .filter(isFile)
      .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
    assert.ok(texts.some(({ path }) => path === 'package.json'));
    assertNone(checkWords(texts, WORDS));
  });
});

function isFile(path: string): boolean {
  return globSync(path, { cwd: root, withFileTypes: true }).some((entry) => entry.isFile());
}

describe('the packages', () => {
  const lock = readJson<LockFile>('package-lock.json');
  const files: PackageFile[] = listFiles('{package.json,*/package.json}').map((path) => ({
    path,
    content: readJson(path),
  }));
  test('come for x64 and arm64 alike', () => assertNone(checkArchitectures(lock)));
  test('are all in the lock file, so that a clean install works', () => assertNone(checkLockComplete(lock)));
  test('are locked without naming a registry', () => assertNone(checkNoRegistry(lock)));
  test('are pinned to exact versions', () => {
    assert.ok(files.length >= 2);
    assertNone(checkPinned(files));
  });
  test('that are shipped have permissive licences', () => assertNone(checkLicences(lock)));
});

describe('each rule fails on what it forbids', () => {
  test('directions: to the right, up from kernel, into test code, from an unknown folder', () => {
    const broken = fixture({
      'kernel/a.ts': `import { x } from '../db/database.ts';`,
      'tags/tags.ts': `import type { Link } from '../links/link.ts';`,
      'links/links.ts': `import { t } from '../tags/tags.ts';\nimport { r } from '../http/router.ts';`,
      'db/outbox.ts': `import { e } from '../events/event.ts';`,
      'db/jobs.ts': `import { e } from '../events/event.ts';`,
      'http/a.ts': `import { f } from '../testing/app.ts';`,
      'config.ts': `import { createApp } from './app.ts';`,
      'operations.ts': `import type { Tags } from './tags/tags.ts';\nimport { t } from './tags/tags.ts';`,
      'elsewhere/a.ts': '',
      'redirect/decide.ts': `import type { Link } from '../links/link.ts';\nexport * from '../links/links.ts';`,
      'links/links.test.ts': `import { w } from '../webhooks/deliver.ts';`,
    });
    assert.deepEqual(checkDirections(broken, DIRECTIONS), [
      'kernel/a.ts:1: may not import db/database.ts',
      'tags/tags.ts:1: may not import links/link.ts',
      'links/links.ts:2: may not import http/router.ts',
      'db/jobs.ts:1: may not import events/event.ts',
      'http/a.ts:1: imports test code (testing/app.ts)',
      'config.ts:1: may not import app.ts',
      'operations.ts:2: may not import tags/tags.ts',
      'elsewhere/a.ts: has no line in the table of import directions',
      'redirect/decide.ts:2: may not import links/links.ts',
    ]);
  });

  test('forbidden imports: a store that sees rights, an app that starts itself', () => {
    const broken = fixture({
      'tags/tag.store.ts': `import type { Actor } from '../access/actor.ts';`,
      'access/token.store.ts': `import type { Actor } from './actor.ts';`,
      'app.ts': `import './main.ts';`,
    });
    assert.deepEqual(checkForbiddenImports(broken, FORBIDDEN), [
      'tags/tag.store.ts:1: may not import access/actor.ts',
      'app.ts:1: may not import main.ts',
    ]);
  });

  test('stores: used from another folder', () => {
    const code = `import { createTagStore } from './tags/tag.store.ts';`;
    const broken = fixture({ 'app.ts': code, 'cli.ts': code, 'tags/tags.ts': code.replace('./tags/', './') });
    assert.deepEqual(checkStores(broken, ['app.ts']), [
      'cli.ts:1: tags/tag.store.ts belongs to its own folder and app.ts',
    ]);
  });

  test('cycles: at run time only, also through a dynamic import or an inline type', () => {
    const cycle = (back: string) =>
      checkCycles(fixture({ 'a.ts': `import { b } from './b.ts';`, 'b.ts': back }));
    const found = ['import cycle: a.ts -> b.ts -> a.ts'];
    assert.deepEqual(cycle(`import { a } from './a.ts';`), found);
    assert.deepEqual(cycle(`export * from './a.ts';`), found);
    assert.deepEqual(cycle(`const a = await import('./a.ts');`), found);
    assert.deepEqual(cycle(`import { type A } from './a.ts';`), found);
    assert.deepEqual(cycle(`import type { A } from './a.ts';`), []);
  });

  test('drivers: a second file, or a file outside the folder', () => {
    const broken = fixture({
      'db/postgres.ts': `import pg from 'pg';`,
      'tags/tag.store.ts': `import type { Pool } from 'pg';`,
      'tags/tag.api.ts': `import { Hono } from 'hono/tiny';`,
      'http/server.ts': `import { Hono } from 'hono';`,
      'testing/postgres.ts': `import pg from 'pg';`,
    });
    assert.deepEqual(checkDrivers(broken, DRIVERS), [
      'tags/tag.api.ts: hono, @hono/node-server may be imported in http/* only',
      'db/postgres.ts: pg may be imported in one file only',
      'tags/tag.store.ts: pg may be imported in one file only',
    ]);
  });

  test('uses: every spelling of environment, time, chance, console and any', () => {
    const spellings = {
      'process.env': [
        'process.env.A',
        `process['env']`,
        'const { env } = process',
        'globalThis.process.env',
        `import { env } from 'node:process'`,
      ],
      'Date.now': ['Date.now()', 'const now = Date.now'],
      'new Date()': ['new Date()', 'Date()'],
      'Math.random': ['Math.random()'],
      'crypto.randomUUID': ['crypto.randomUUID()', `import { randomUUID } from 'node:crypto'`],
      'crypto.randomBytes': [`import { randomBytes as r } from 'crypto'`],
      console: [`console.log('x')`],
      any: ['let x: any', 'const x = y as any'],
    };
    for (const [name, lines] of Object.entries(spellings)) {
      for (const code of lines) {
        assert.deepEqual(
          checkUses(fixture({ 'tags/a.ts': code }), USES),
          [`tags/a.ts:1: uses ${name}`],
          code,
        );
      }
    }
  });

  test('uses: dates from a number, durations, hashes and the allowed places pass', () => {
    const fine = fixture({
      'tags/a.ts': `import { createHash } from 'node:crypto';\nnew Date(5); performance.now(); Date.UTC(2020, 1);`,
      'kernel/clock.ts': 'Date.now(); new Date(); Math.random();',
      'config.ts': 'process.env.A',
      'cli/start.ts': `console.log('x')`,
      'tags/a.test.ts': 'process.env.A; Date.now();',
    });
    assertNone(checkUses(fine, USES));
  });

  test('reach: a database behind two imports, but not behind a type', () => {
    const files = (link: string) =>
      fixture({
        'redirect/redirect.ts': `import { link } from '../links/link.ts';`,
        'links/link.ts': link,
        'db/postgres.ts': `import pg from 'pg';`,
      });
    assert.deepEqual(checkReach(files(`import { db } from '../db/postgres.ts';`), REACH), [
      'redirect/redirect.ts: reaches pg through db/postgres.ts',
    ]);
    assertNone(checkReach(files(`import type { Db } from '../db/postgres.ts';`), REACH));
  });

  test('names: barrels, catch-alls, other cases and unknown roles', () => {
    const bad = ['tags/index.ts', 'tags/utils.ts', 'helpers/a.ts', 'tags/tagStore.ts', 'tags/tag.service.ts'];
    const good = [
      'tags/tag.store.test.ts',
      'kernel/ids.ts',
      'db/migrations/0001-start.ts',
      'events/journal.contract.ts',
    ];
    assert.deepEqual(
      [...bad, ...good].map((path) => checkNames([path]).length),
      [...bad.map(() => 1), ...good.map(() => 0)],
    );
  });

  test('default exports: in both spellings', () => {
    const broken = fixture({
      'a.ts': 'export default 1',
      'b.ts': 'const b = 1; export { b as default }',
      'c.ts': '',
    });
    assert.deepEqual(checkNoDefaultExports(broken), [
      'a.ts: has a default export',
      'b.ts: has a default export',
    ]);
  });

  test('syntax: a file that the parser cannot read is not passed over', () => {
    assert.equal(checkSyntax(fixture({ 'a.ts': 'const = ;' })).length, 1);
  });

  test('words: the place is reported, look-alikes pass', () => {
    const [work, notes] = [`/${'work'}/main`, `${'shared'}/notes.md`];
    const files = [
      { path: 'a.md', text: `fine\nsee ${work}\nsee ${notes}\nnetwork/ and pre-${notes} and homework/x` },
    ];
    assert.deepEqual(checkWords(files, WORDS), [
      `a.md:2: mentions /${'work'}/`,
      `a.md:3: mentions ${'shared'}/`,
    ]);
  });

  test('packages: one architecture, another version, a hole in the lock, an address, a range, a licence', () => {
    const lock: LockFile = {
      packages: {
        '': { optionalDependencies: { 'n-linux-x64': '1.0.0', 'n-darwin-arm64': '1.0.0' } },
        'node_modules/n-linux-x64': { version: '1.0.0', license: 'MIT' },
        'node_modules/m-linux-x64': { version: '1.0.0', license: '(GPL-3.0 OR MIT)' },
        'node_modules/m-linux-arm64': { version: '1.0.1', license: 'MIT AND GPL-3.0' },
        'node_modules/far': { version: '1.0.0', resolved: 'https://packages.example/far.tgz', dev: true },
        'node_modules/near': { resolved: 'near', link: true },
        'node_modules/unknown': { version: '1.0.0' },
      },
    };
    assert.deepEqual(checkArchitectures(lock), [
      'node_modules/n-linux-x64 1.0.0: node_modules/n-linux-arm64 is not locked in the same version',
      'node_modules/m-linux-x64 1.0.0: node_modules/m-linux-arm64 is not locked in the same version',
      'node_modules/m-linux-arm64 1.0.1: node_modules/m-linux-x64 is not locked in the same version',
    ]);
    assert.deepEqual(checkLockComplete(lock), [
      'package.json: its optional package n-darwin-arm64 is not in the lock file',
    ]);
    assert.deepEqual(checkNoRegistry(lock), ['node_modules/far: names the address it was fetched from']);
    assert.deepEqual(checkLicences(lock), [
      'node_modules/m-linux-arm64: licence MIT AND GPL-3.0 is not on the list',
      'node_modules/unknown: licence unknown is not on the list',
    ]);
    assert.deepEqual(
      checkPinned([{ path: 'package.json', content: { dependencies: { a: '^1.0.0', b: '1.0.0' } } }]),
      ['package.json: a is not pinned (^1.0.0)'],
    );
  });
});
