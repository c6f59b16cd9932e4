// Random keys on a domain that has hardly any left.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { eachDatabase } from '../testing/databases.ts';
import { linkCalls } from '../testing/link-calls.ts';
import { openTestApp, type TestApp } from '../testing/test-app.ts';

const LETTERS = [...'0123456789abcdefghijklmnopqrstuvwxyz'];
/** Keys that end so stay free: one of 36. */
const LAST = LETTERS.at(-1) as string;

eachDatabase('a domain with few free keys', (databases) => {
  let t: TestApp;
  before(async () => {
    t = await openTestApp({ databaseUrl: await databases.place() });
  });
  after(() => t.close());

  /** Every key of three letters that ends with one of these. */
  async function fill(workspaceId: string, domain: string, endings: readonly string[]): Promise<void> {
    const values = (letters: readonly string[]) => sql.join(letters.map((letter) => sql`(${letter})`));
    await sql`with letter (v) as (values ${values(LETTERS)}), ending (v) as (values ${values(endings)})
      insert into link (id, workspace_id, domain, key, lookup_key, url, url_hash, created_at, updated_at)
      select 'link_' || a.v || b.v || c.v, ${workspaceId}, ${domain}, a.v || b.v || c.v, a.v || b.v || c.v, '', '', 1, 1
      from letter a cross join letter b cross join ending c
      where not exists (select 1 from link where link.domain = ${domain} and lookup_key = a.v || b.v || c.v)`.execute(
      t.app.db.query,
    );
  }

  test('gives one of the last keys, none twice, and is a conflict when it is full', async () => {
    const links = linkCalls(t, await t.workspace());
    const slug = await links.domain();
    await fill(links.ws.id, slug, LETTERS.slice(0, -1));
    const made = await Promise.all(
      Array.from({ length: 10 }, () => links.create({ domain: slug, keyLength: 3 })),
    );
    const keys = made.map(({ key }) => key.toLowerCase());
    assert.equal(new Set(keys).size, 10);
    for (const key of keys) assert.ok(key.endsWith(LAST), key);
    await fill(links.ws.id, slug, [LAST]);
    await links.refused(409, 'keyLength', 'POST', '/links', {
      url: 'https://a.example',
      domain: slug,
      keyLength: 3,
    });
    assert.equal((await links.create({ domain: slug })).key.length, 7);
    assert.match((await links.create({ domain: slug, keyLength: 3, prefix: 'p' })).key, /^p\/\w{3}$/);
  });
});
