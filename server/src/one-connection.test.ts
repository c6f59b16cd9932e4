// Who holds a connection to the database never waits for another one: otherwise as many requests as there are
// connections would wait for each other until they fail. With a single connection it takes one such request.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { allOperations } from './operations.ts';
import { onPostgres } from './testing/databases.ts';
import { openTestApp, type TestApp } from './testing/test-app.ts';
import { keyFor, NEVER_GRANTED, SIGNED, validRequest } from './testing/valid-requests.ts';

onPostgres('One connection', (databases) => {
  let t: TestApp;
  before(async () => {
    t = await openTestApp({
      databaseUrl: await databases.place(),
      env: { LINKTRAIL_DATABASE_POOL: '1' },
      events: true,
    });
  });
  after(() => t.close());

  test('is enough for every operation, also when an Idempotency-Key makes all of it one transaction', async () => {
    const workspace = await t.workspace();
    const failed: string[] = [];
    for (const operation of allOperations(t.app.services)) {
      if (SIGNED.has(operation.id) || NEVER_GRANTED.has(operation.id)) continue;
      // A new window for operations that count by address.
      t.clock.advance(60_000);
      const { path, body } = await validRequest(t, workspace, operation);
      const key = operation.access.by === 'nobody' ? undefined : await keyFor(t, workspace, operation);
      const headers = { 'Idempotency-Key': operation.id };
      const { status, text } = await t.request(operation.method, path, { key, body, headers });
      if (status !== operation.response.status) failed.push(`${operation.id}: ${status} ${text}`);
    }
    assert.deepEqual(failed, []);
  });
});
