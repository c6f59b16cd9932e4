// A dump does not know the engine it came from: from SQLite to PostgreSQL and back, nothing changes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onPostgres } from '../testing/databases.ts';
import { exportText, fullRecords, importText, toDump } from '../testing/dumps.ts';
import { openTestApp } from '../testing/test-app.ts';

onPostgres('a dump from SQLite', (databases) => {
  test('comes back from PostgreSQL as it was', async (t) => {
    const texts: string[] = [toDump([...fullRecords('w1', 'é'), ...fullRecords('w2', 'Z')])];
    for (const databaseUrl of [undefined, await databases.place(), undefined]) {
      const app = await openTestApp(databaseUrl === undefined ? {} : { databaseUrl });
      t.after(() => app.close());
      await importText(app.app, texts.at(-1) as string);
      texts.push(await exportText(app.app));
    }
    const [, first, second, third] = texts.map((text) => text.slice(text.indexOf('\n')));
    assert.equal(second, first);
    assert.equal(third, first);
  });
});
