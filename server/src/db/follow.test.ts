import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { systemClock } from '../kernel/clock.ts';
import { eachDatabase, onPostgres } from '../testing/databases.ts';
import { followContract, listener } from './follow.contract.ts';
import { migrate } from './migrate.ts';
import { appendOutbox } from './outbox.ts';

eachDatabase('Following', followContract);

onPostgres('Following from another node', (databases) => {
  const event = (n: number) => ({
    workspaceId: 'ws_1',
    type: 'link.created',
    payload: { n, text: 'x'.repeat(500) },
  });
  const heardOf = (n: number) => JSON.stringify(event(n).payload);

  async function twoNodes() {
    const place = await databases.place();
    const one = await databases.openAt(place);
    await migrate(one, { clock: systemClock });
    const two = await databases.openAt(place, { postgres: { listenRetryMs: 5 } });
    const ears = { one: listener(), two: listener() };
    await one.follow(ears.one.follower);
    await two.follow(ears.two.follower);
    return { one, two, ears };
  }

  test('what one node commits the other hears, in many pieces where it has to be', async () => {
    const { one, ears } = await twoNodes();
    const events = Array.from({ length: 100 }, (_, n) => event(n));
    await one.write((trx) => appendOutbox(trx, events, 1));
    await Promise.all(events.map((_, n) => ears.two.until(heardOf(n))));
    assert.equal(ears.two.heard.length, 100);
  });

  test('what is rolled back, and what happens in another schema, is not heard', async () => {
    const [{ one, ears }, other] = [await twoNodes(), await twoNodes()];
    await one
      .write(async (trx) => {
        await appendOutbox(trx, [event(1)], 1);
        throw new Error('undo');
      })
      .catch(() => {});
    await other.one.write((trx) => appendOutbox(trx, [event(2)], 1));
    await one.write((trx) => appendOutbox(trx, [event(3)], 1));
    await ears.two.until(heardOf(3));
    assert.deepEqual(ears.two.heard, [heardOf(3)]);
  });

  test('a node that lost its connection is told so once it hears again', async () => {
    const { one, ears } = await twoNodes();
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where query like 'listen %' and application_name in (select application_name from pg_stat_activity where pid = pg_backend_pid())
      and pid <> pg_backend_pid()`.execute(one.query);
    await ears.two.until('lost');
    await one.write((trx) => appendOutbox(trx, [event(4)], 1));
    await ears.two.until(heardOf(4));
  });
});
