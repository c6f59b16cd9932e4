// Dumps on every engine: what goes out comes in again unchanged, twice is as good as once, and every line that
// cannot be taken is told with its number, type, field and reason.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from 'kysely';
import { sha256Hex } from '../kernel/ids.ts';
import { eachDatabase, type TestDatabases } from '../testing/databases.ts';
import {
  exportText,
  FILE_NAME,
  fullRecords,
  HEADER,
  importText,
  type Line,
  parseDump,
  toDump,
} from '../testing/dumps.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';
import { createEntities, LEFT_OUT, LEFT_OUT_COLUMNS } from './entities.ts';
import type { InputLine } from './import.ts';
import { MAX_LINE_BYTES } from './lines.ts';
import type { Problem } from './record.ts';

const MINUTE_MS = 60_000;
const body = (text: string): string => text.slice(text.indexOf('\n') + 1);

/** Equal but for the header, without printing two whole dumps when they are not. */
function assertSame(actual: string, expected: string): void {
  const [left, right] = [body(actual).split('\n'), body(expected).split('\n')];
  const at = left.findIndex((line, i) => line !== right[i]);
  assert.deepEqual([left[at], left.length], [right[at], right.length]);
}

const withoutEnd = (text: string): Line[] => parseDump(text).slice(1, -1);

function opener(databases: TestDatabases) {
  const opened: TestApp[] = [];
  after(async () => {
    for (const t of opened) await t.close();
  });
  return async (env: Record<string, string> = {}): Promise<TestApp> => {
    const t = await openTestApp({ databaseUrl: await databases.place(), env });
    opened.push(t);
    return t;
  };
}

/** What the API makes, with everything that hangs on links. */
async function fill(t: TestApp): Promise<string> {
  const { id, key, newKey } = await t.workspace();
  await newKey({ role: 'member', scopes: ['links.read'] });
  await newKey({ isMachine: true });
  const post = async (path: string, body: object) => {
    const reply = await t.request('POST', path, { key, body });
    assert.ok(reply.status < 300, reply.text);
    return reply.json;
  };
  const tag = await post('/tags', { name: 'News', color: 'blue' });
  const folder = await post('/folders', { name: 'Spring', accessLevel: 'write' });
  const slug = `go${sha256Hex(id).slice(0, 8)}.example.com`;
  await post('/domains', { slug });
  for (let start = 0; start < 300; start += 100) {
    const links = Array.from({ length: 100 }, (_, i) => ({
      url: `https://example.com/${start + i}`,
      key: `k${start + i}`,
      ...(i % 2 && { domain: slug }),
      ...(i % 3 === 0 && { tagIds: [tag.id] }),
      ...(i % 5 === 0 && { folderId: folder.id, archived: true }),
    }));
    await post('/links/bulk', links);
  }
  return id;
}

eachDatabase('a dump', (databases) => {
  const open = opener(databases);

  test('comes out of an empty instance as it went in, with every field of every type', async () => {
    const t = await open();
    await importText(t.app, toDump(fullRecords()));
    assert.deepEqual(withoutEnd(await exportText(t.app)), fullRecords());
  });

  test('holds everything that the API made; a second instance exports the same', async () => {
    const [first, second] = [await open(), await open()];
    await fill(first);
    await fill(first);
    first.clock.advance(2 * MINUTE_MS);
    const text = await exportText(first.app);
    const lines = parseDump(text);
    const counts = {
      user: 6,
      workspace: 2,
      domain: 2,
      folder: 2,
      tag: 2,
      member: 6,
      key: 6,
      folderRole: 2,
      link: 602,
    };
    const { folderRole, ...others } = (lines.at(-1) as { counts: Record<string, number> }).counts;
    const { folderRole: _, ...expected } = counts;
    assert.deepEqual({ ...others }, expected);
    assert.ok((folderRole ?? 0) <= 2);
    await importText(second.app, text);
    assertSame(await exportText(second.app), text);
  });

  test('leaves lists, counts, search and keys as they were', async () => {
    const [first, second] = [await open(), await open()];
    const { key, id } = await first.workspace();
    const tag = await first.request('POST', '/tags', { key, body: { name: 'News' } });
    const made = await first.request('POST', '/links', {
      key,
      body: { url: 'https://example.com/Überall', key: 'spring', tagIds: [tag.json.id] },
    });
    assert.equal(made.status, 200);
    first.clock.advance(2 * MINUTE_MS);
    second.clock.advance(2 * MINUTE_MS);
    await importText(second.app, await exportText(first.app));
    for (const path of [
      '/links',
      `/links?tagIds=${tag.json.id}`,
      '/links?search=%C3%BCber',
      '/links/count',
      '/links/count?groupBy=tagId',
      '/links/info?domain=localhost:3000&key=SPRING',
      `/workspaces/${id}`,
    ]) {
      const [before, afterwards] = [
        await first.request('GET', path, { key }),
        await second.request('GET', path, { key }),
      ];
      assert.equal(before.status, 200, `${path} ${before.text}`);
      assert.deepEqual(afterwards.json, before.json, path);
    }
  });

  test('of one workspace holds nothing of another, and can be imported', async () => {
    const [first, second] = [await open(), await open()];
    const wanted = await fill(first);
    const other = await fill(first);
    first.clock.advance(2 * MINUTE_MS);
    const text = await exportText(first.app, wanted);
    assert.ok(!text.includes(other));
    assert.equal(parseDump(text).filter(({ type }) => type === 'link').length, 301);
    await importText(second.app, text);
    assertSame(await exportText(second.app, wanted), text);
  });

  test('imported twice changes nothing and says so', async () => {
    const [first, second] = [await open(), await open()];
    await fill(first);
    first.clock.advance(2 * MINUTE_MS);
    const text = await exportText(first.app);
    await importText(second.app, text);
    const report = await importText(second.app, text);
    assert.deepEqual(report.written, {});
    assert.equal(report.unchanged.link, 301);
    assertSame(await exportText(second.app), text);
  });

  test('imported again puts back what was changed since', async () => {
    const t = await open();
    await importText(t.app, toDump(fullRecords()));
    await sql`update link set clicks = 11, archived = 0, created_at = 5`.execute(t.app.db.query);
    await sql`delete from link_tag`.execute(t.app.db.query);
    const report = await importText(t.app, toDump(fullRecords()));
    assert.deepEqual(report.written, { link: 1 });
    assert.deepEqual(withoutEnd(await exportText(t.app)), fullRecords());
    const { rows } = await sql<{ archived: number; created_at: number }>`
      select distinct archived, created_at from link_tag`.execute(t.app.db.query);
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [{ archived: 1, created_at: Date.parse('2024-02-03T04:05:06.007Z') }],
    );
  });

  test('takes keys as they are: whoever has one can go on using it', async () => {
    const t = await open();
    const records = fullRecords().map((line) => {
      const { hashedKey, partialKey: _, expiresAt: __, ...rest } = line;
      return hashedKey ? { ...rest, key: 'dub_anything-goes', scopes: [] } : line;
    });
    await importText(t.app, toDump(records));
    const reply = await t.request('GET', '/tags', { key: 'dub_anything-goes' });
    assert.deepEqual(reply.json.map(({ id }: { id: string }) => id).sort(), ['cltag1', 'cltag2']);
    assert.ok(!(await exportText(t.app)).includes('dub_anything'));
  });

  test('carries images along and gives them the address of the new instance', async () => {
    const [first, second] = [await open(), await open({ LINKTRAIL_PUBLIC_URL: 'https://new.example.com' })];
    await importText(first.app, toDump(fullRecords()));
    await importText(second.app, await exportText(first.app));
    assert.equal((await second.request('GET', `/files/${FILE_NAME}`)).status, 200);
    const row = await second.app.db.query.selectFrom('link').select('image').executeTakeFirstOrThrow();
    assert.equal(row.image, `https://new.example.com/api/files/${FILE_NAME}`);
  });

  test('moves links of the default domain to the default domain of the new instance', async () => {
    const [first, second] = [await open(), await open({ LINKTRAIL_DEFAULT_DOMAIN: 'new.example.com' })];
    const { key } = await first.workspace();
    await first.request('POST', '/links', { key, body: { url: 'https://example.com', key: 'spring' } });
    await importText(second.app, await exportText(first.app));
    const row = await second.app.db.query.selectFrom('link').select('domain').executeTakeFirstOrThrow();
    assert.equal(row.domain, 'new.example.com');
  });

  test('tells those who keep links and domains in memory, with where a link was before', async () => {
    const t = await open();
    const heard: unknown[] = [];
    await t.app.db.follow({
      name: 'test',
      digest: ({ type, payload, previous }) => {
        const [now, before] = [payload as Line, previous as Line | undefined];
        return /^(link|domain)\./.test(type) ? [type, now.key ?? now.slug, before?.key].join(' ') : undefined;
      },
      receive: (digests) => void heard.push(...digests),
      lost: () => {},
    });
    await importText(t.app, toDump(fullRecords()));
    await importText(t.app, toDump([change('link', { key: 'Summer' })(fullRecords())]));
    assert.deepEqual(
      [...new Set(heard)],
      ['domain.imported go.example.com ', 'link.imported Spring ', 'link.imported Summer Spring'],
    );
  });

  test('keeps the total of links right, whatever was there before', async () => {
    const t = await open();
    await importText(t.app, toDump(fullRecords()));
    const more = {
      type: 'link',
      id: 'l2',
      workspaceId: 'clx1workspace',
      key: 'b',
      url: 'https://example.com/2',
    };
    for (let i = 0; i < 2; i++) await importText(t.app, toDump([...fullRecords(), more]));
    const { totalLinks } = await t.app.services.workspaces.get('acme');
    assert.equal(totalLinks, 2);
  });

  test('with what is made while it is written resolves all its references', async () => {
    const [first, second] = [await open(), await open()];
    const { id: workspaceId } = await first.workspace();
    const late = fullRecords(workspaceId, 'late').filter(
      ({ type }) => !['workspace', 'member', 'key', 'file'].includes(String(type)),
    );
    const now = new Date(first.clock.now()).toISOString();
    let text = '';
    await first.app.dump.export({
      scope: { workspaceId: undefined },
      signal: new AbortController().signal,
      write: async (more) => {
        text += more;
      },
      progress: async ({ done }) => {
        // The passes over users, tags and folders are over or not by then: what they missed comes with the link.
        if (done !== 3) return;
        await importText(
          first.app,
          toDump(late.map((line) => ({ ...line, createdAt: now, image: undefined, logo: undefined }))),
        );
      },
    });
    assert.ok(text.includes('cllink1late'));
    await importText(second.app, text);
  });

  test('leaves out links of a domain that is being deleted, and folders that are gone', async () => {
    const [first, second] = [await open(), await open()];
    await importText(first.app, toDump(fullRecords()));
    await sql`delete from folder`.execute(first.app.db.query);
    const orphan = {
      type: 'link',
      id: 'l2',
      workspaceId: 'clx1workspace',
      domain: 'go.example.com',
      key: 'b',
      url: '',
    };
    await importText(first.app, toDump([orphan]));
    assert.equal(
      withoutEnd(await exportText(first.app)).find(({ id }) => id === 'cllink1')?.folderId,
      undefined,
    );
    await sql`delete from domain`.execute(first.app.db.query);
    const text = await exportText(first.app);
    // The two links, and the lines that say which webhook hears of one of them, which partner has it, and its code.
    assert.equal(parseDump(text).at(-1)?.leftOut, 5);
    await importText(second.app, text);
  });
});

interface Bad {
  readonly name: string;
  readonly line: (records: readonly Line[]) => Line | string;
  readonly type: string;
  readonly field: string;
  readonly reason: RegExp;
}

const of = (type: string) => (records: readonly Line[]) => records.find((line) => line.type === type) as Line;
const change = (type: string, values: Line) => (records: readonly Line[]) => ({
  ...of(type)(records),
  ...values,
});
const bad = (name: string, type: string, field: string, values: Line, reason: RegExp): Bad => ({
  name,
  type,
  field,
  line: change(type, values),
  reason,
});

const WRONG: readonly Bad[] = [
  bad('a user without an id', 'user', 'id', { id: undefined }, /missing/),
  bad('a user whose name is a number', 'user', 'name', { name: 5 }, /string/),
  bad('a user with the e-mail of another', 'user', 'email', { id: 'other' }, /clu1 has this email/),
  bad('a workspace without a slug', 'workspace', 'slug', { slug: undefined }, /missing/),
  bad('a workspace of an unknown plan', 'workspace', 'plan', { plan: 'gold' }, /one of/),
  bad('a workspace with an unknown limit', 'workspace', 'limits.apples', { limits: { apples: 1 } }, /./),
  bad(
    'a workspace with the slug of another',
    'workspace',
    'slug',
    { id: 'w2', inviteCode: 'x', publishableKey: 'y' },
    /clx1workspace has this slug/,
  ),
  bad(
    'a workspace with the publishable key of another',
    'workspace',
    'publishableKey',
    { id: 'w2', slug: 's2', inviteCode: 'x' },
    /has this publishableKey/,
  ),
  bad(
    'a member of no workspace',
    'member',
    'workspaceId',
    { workspaceId: 'none' },
    /no workspace none, neither here nor/,
  ),
  bad('a member of an unknown role', 'member', 'role', { role: 'king' }, /one of/),
  bad('a member without a user', 'member', 'userId', { userId: undefined }, /missing/),
  bad('a key without a key', 'key', 'key', { hashedKey: undefined }, /needed/),
  bad('a key with half a hash', 'key', 'hashedKey', { hashedKey: 'abc' }, /SHA-256/),
  bad('a key of an unknown user', 'key', 'userId', { userId: 'nobody' }, /no user nobody/),
  bad('a key that another has', 'key', 'hashedKey', { id: 'tok2' }, /tok1 has this hashedKey/),
  bad('a tag of another colour', 'tag', 'color', { color: 'mauve' }, /one of/),
  bad('a tag of no workspace', 'tag', 'workspaceId', { workspaceId: 'none' }, /no workspace none/),
  bad('a tag with the name of another', 'tag', 'name', { id: 'tag3', name: 'nEWS' }, /cltag1 has this name/),
  bad('a tag with a field it does not have', 'tag', 'size', { size: 5 }, /not a field/),
  bad('a folder without a name', 'folder', 'name', { name: undefined }, /missing/),
  bad('a folder with the name of another', 'folder', 'name', { id: 'f2' }, /fold_1 has this name/),
  bad('a folder role of an unknown folder', 'folderRole', 'folderId', { folderId: 'f9' }, /no folder f9/),
  bad('a folder role of an unknown kind', 'folderRole', 'role', { role: 'boss' }, /one of/),
  bad(
    'a domain with the name of another',
    'domain',
    'slug',
    { id: 'd2', primary: false, slug: 'GO.example.com' },
    /cld1 has this slug/,
  ),
  bad(
    'a second primary domain',
    'domain',
    'primary',
    { id: 'd2', slug: 'two.example.com' },
    /cld1 has this primary/,
  ),
  bad(
    'the default domain as a domain of a workspace',
    'domain',
    'slug',
    { id: 'd2', slug: 'localhost:3000' },
    /default domain/,
  ),
  bad(
    'a domain that sends visitors into code',
    'domain',
    'expiredUrl',
    { expiredUrl: 'javascript:alert(1)' },
    /javascript/,
  ),
  bad(
    'a domain under another name',
    'domain',
    'slug',
    { slug: 'new.example.com' },
    /has go\.example\.com here/,
  ),
  bad('a link without a key', 'link', 'key', { key: undefined }, /missing/),
  bad('a link to code', 'link', 'url', { url: 'javascript:alert(1)' }, /javascript/),
  bad('a link to code in some country', 'link', 'geo.DE', { geo: { DE: 'data:x' } }, /data/),
  bad('a link with a date that is none', 'link', 'createdAt', { createdAt: 'yesterday' }, /must be a time/),
  bad('a link with half a click', 'link', 'clicks', { clicks: 1.5 }, /int/),
  bad('a link with a flag that is a number', 'link', 'archived', { archived: 1 }, /boolean/),
  bad('a link with NUL in it', 'link', 'title', { title: 'a\0b' }, /NUL/),
  bad('a link with half a character', 'link', 'title', { title: '\ud800' }, /broken/),
  bad(
    'a link on an unknown domain',
    'link',
    'domain',
    { domain: 'none.example.com' },
    /no domain none.example.com/,
  ),
  bad('a link in an unknown folder', 'link', 'folderId', { folderId: 'f9' }, /no folder f9/),
  bad('a link with an unknown tag', 'link', 'tagIds', { tagIds: ['cltag1', 'tag9'] }, /no tag tag9/),
  bad(
    'a link with the key of another',
    'link',
    'key',
    { id: 'l2', externalId: undefined },
    /cllink1 has this key/,
  ),
  bad(
    'a link with the external id of another',
    'link',
    'externalId',
    { id: 'l2', key: 'b' },
    /cllink1 has this externalId/,
  ),
  bad(
    'a link with an image that is not there',
    'link',
    'image',
    { image: `file:${'0'.repeat(64)}.png` },
    /no file 0000/,
  ),
  bad(
    'a link with a file name that is none',
    'link',
    'image',
    { image: 'file:../secret' },
    /not the name of a file/,
  ),
  bad(
    'a file that is not its name',
    'file',
    'content',
    { name: `${'1'.repeat(64)}.png`, content: 'AAAA' },
    /not what the name/,
  ),
  bad('a file that is not base64', 'file', 'content', { content: '*' }, /base64/),
  {
    name: 'a line of an unknown type',
    type: 'planet',
    field: 'type',
    line: () => ({ type: 'planet' }),
    reason: /must be one of file, user/,
  },
  { name: 'a line without a type', type: '', field: 'type', line: () => ({}), reason: /must be one of/ },
  { name: 'a line that is no JSON', type: '', field: '', line: () => 'hello', reason: /not a JSON object/ },
  { name: 'a line that is a list', type: '', field: '', line: () => '[1]', reason: /not a JSON object/ },
];

eachDatabase('a line that cannot be taken', (databases) => {
  const open = opener(databases);
  let t: TestApp;
  before(async () => {
    t = await open();
    await importText(t.app, toDump(fullRecords()));
  });

  const dumpWith = (line: Line | string): string => {
    const good = { type: 'tag', id: 'good', workspaceId: 'clx1workspace', name: 'Good', color: 'red' };
    const text = typeof line === 'string' ? line : JSON.stringify(line);
    return `${JSON.stringify(HEADER)}\n${JSON.stringify(good)}\n${text}\n{"type":"end"}\n`;
  };

  for (const { name, line, type, field, reason } of WRONG) {
    test(`${name} is refused with its line, and nothing of the batch stays`, async () => {
      const text = dumpWith(line(fullRecords()));
      await assert.rejects(importText(t.app, text), (error: Error) => {
        const place = `Line 3${type && ` (${type})`}${field && ` field ${field}`}: `;
        assert.ok(error.message.startsWith(place), error.message);
        assert.match(error.message.split('\n')[0] as string, reason);
        return true;
      });
      assert.deepEqual(withoutEnd(await exportText(t.app)), fullRecords());
    });
  }

  for (const { name, line, type, field, reason } of WRONG.filter((_, i) => i % 4 === 0)) {
    test(`${name} is passed over on request, and the rest is taken`, async () => {
      const passed: (Problem & { text: string | undefined })[] = [];
      const onRejected = async (problem: Problem, { text }: InputLine) =>
        void passed.push({ ...problem, text });
      const given = line(fullRecords());
      const report = await importText(t.app, dumpWith(given), { onRejected });
      assert.equal(report.rejected, 1);
      assert.deepEqual(
        passed.map((entry) => [entry.line, entry.type, entry.field]),
        [[3, type, field]],
      );
      assert.match(passed[0]?.reason ?? '', reason);
      assert.equal(passed[0]?.text, typeof given === 'string' ? given : JSON.stringify(given));
      await t.app.db.query.deleteFrom('tag').where('id', '=', 'good').execute();
      assert.deepEqual(withoutEnd(await exportText(t.app)), fullRecords());
    });
  }

  test('an id of another workspace is not taken from it', async () => {
    const workspace = {
      ...of('workspace')(fullRecords()),
      id: 'w2',
      slug: 'w2',
      inviteCode: 'i2',
      publishableKey: 'p2',
    };
    const link = { type: 'link', id: 'cllink1', workspaceId: 'w2', key: 'x', url: '' };
    const other = await open();
    await importText(other.app, toDump([...fullRecords(), workspace]));
    await assert.rejects(
      importText(other.app, toDump([link])),
      /Line 2 \(link\) field id: cllink1 is taken in the workspace clx1workspace/,
    );
    const tagged = { ...link, id: 'l9', tagIds: ['cltag1'] };
    await assert.rejects(
      importText(other.app, toDump([tagged])),
      /the tag cltag1 belongs to another workspace/,
    );
  });
});

describe('what is no dump', () => {
  let t: TestApp;
  before(async () => {
    t = await openTestApp();
  });
  after(() => t.close());

  const cases: readonly [string, string | Uint8Array, RegExp][] = [
    ['nothing', '', /not a dump/],
    ['a page', '<html>', /not a dump/],
    ['other JSON', '{"type":"link"}\n', /not a dump/],
    ['a later version', '{"type":"linktrail","version":2}\n', /has version 2; this release reads version 1/],
    ['one that is cut off', toDump([], { end: false }), /cut off after line 1/],
    [
      'one that lacks lines',
      `${JSON.stringify(HEADER)}\n{"type":"end","counts":{"tag":1}}\n`,
      /tells of 1 lines of type tag, and there are 0/,
    ],
    ['one that goes on after its end', `${toDump([])}{"type":"tag"}\n`, /Line 3 comes after the last line/],
    [
      'bytes that are no text',
      Buffer.concat([Buffer.from(`${JSON.stringify(HEADER)}\n`), Buffer.from([0xff, 0xfe, 10])]),
      /Line 2 is not text in UTF-8/,
    ],
    [
      'a line without end',
      `${JSON.stringify(HEADER)}\n${'x'.repeat(MAX_LINE_BYTES + 1)}`,
      /Line 2 is longer than/,
    ],
  ];
  for (const [name, text, reason] of cases) {
    test(`${name} is refused`, async () => {
      await assert.rejects(importText(t.app, text), reason);
    });
  }
});

eachDatabase('an import that is interrupted', (databases) => {
  const open = opener(databases);

  test('goes on where it stopped, wherever that was', async () => {
    const source = await open();
    await fill(source);
    await fill(source);
    await fill(source);
    source.clock.advance(2 * MINUTE_MS);
    const text = await exportText(source.app);
    const target = await open();
    let runs = 0;
    for (let rest = 3; ; rest = 1) {
      const stop = new AbortController();
      let batches = 0;
      const progress = async () => {
        batches += 1;
        if (runs < 3 && batches === rest % 2) stop.abort(new Error('interrupted'));
      };
      runs += 1;
      const report = await importText(target.app, text, { signal: stop.signal, progress }).catch(
        (error: Error) => {
          assert.equal(error.message, 'interrupted');
          return undefined;
        },
      );
      if (!report) continue;
      assert.equal(report.resumed, true);
      assert.ok(report.lines < 900, `${report.lines} lines were read again`);
      break;
    }
    assert.ok(runs > 1);
    assertSame(await exportText(target.app), text);
    assert.equal((await target.app.db.query.selectFrom('import_progress').selectAll().execute()).length, 0);
  });

  test('is not taken for an import of a file that has changed', async () => {
    const t = await open();
    const tags = Array.from({ length: 600 }, (_, i) => ({
      type: 'tag',
      id: `t${i}`,
      workspaceId: 'clx1workspace',
      name: `Tag ${i}`,
      color: 'red',
    }));
    const records = [...fullRecords(), ...tags];
    const stop = new AbortController();
    const progress = async () => stop.abort(new Error('interrupted'));
    await assert.rejects(
      importText(t.app, toDump(records), { signal: stop.signal, progress }),
      /interrupted/,
    );
    const changed = toDump(records.map((line) => (line.id === 't5' ? { ...line, name: 'Other' } : line)));
    await assert.rejects(
      importText(t.app, changed),
      /not the same up to there any more. Run the command again/,
    );
    await importText(t.app, changed);
    const row = await t.app.db.query
      .selectFrom('tag')
      .select('name')
      .where('id', '=', 't5')
      .executeTakeFirstOrThrow();
    assert.equal(row.name, 'Other');
  });
});

eachDatabase('every table', (databases) => {
  test('is in the dump, or left out for a reason, down to its columns', async () => {
    const db = await databases.open();
    const parts = {
      db,
      clock: { now: () => 0 },
      defaultDomain: 'x',
      files: {},
      findDomains: {},
      findPresentNames: {},
      urlColumns: {},
      addTotalLinks: {},
    };
    const entities = createEntities(parts as unknown as Parameters<typeof createEntities>[0]);
    const { rows } =
      databases.engine === 'sqlite'
        ? await sql<{
            place: string;
          }>`select t.name || '.' || c.name as place from pragma_table_list t, pragma_table_xinfo(t.name) c
            where t.type = 'table' and t.schema = 'main' and t.name not like 'sqlite_%'`.execute(db.query)
        : await sql<{
            place: string;
          }>`select table_name || '.' || column_name as place from information_schema.columns
            where table_schema = current_schema()`.execute(db.query);
    const tables = new Set(entities.flatMap((entity) => entity.tables));
    const moved = new Set(entities.flatMap((entity) => entity.columns));
    const forgotten = rows
      .map(({ place }) => place)
      .filter(
        (place) => !isLeftOut(place) && !(tables.has(place.split('.')[0] as string) && moved.has(place)),
      );
    assert.deepEqual(forgotten, []);
    assert.ok(rows.length > 100);
  });
});

function isLeftOut(place: string): boolean {
  return (place.split('.')[0] as string) in LEFT_OUT || place in LEFT_OUT_COLUMNS;
}
