// A process of its own that stores batches of clicks as fast as it can and tells how far it is, to be killed.
import { join } from 'node:path';
import { openDuckdb } from '../analytics/duckdb.ts';
import { clickRecord } from './click-records.ts';

const [folder = '', size = '0'] = process.argv.slice(2);
const batch = Number(size);
const store = await openDuckdb({ path: join(folder, 'events.duckdb'), threads: 1, memoryMb: 256 });
for (let n = ((await store.committed())?.offset ?? 0) + 1; ; n++) {
  const clicks = Array.from({ length: batch }, (_, i) => clickRecord(n * batch + i));
  await store.append({ clicks, links: [] }, { segment: 1, offset: n });
  process.send?.(n);
}
