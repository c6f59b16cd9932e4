// The bare redirect server of baseline-server.ts, with one journal record of 300 bytes written before each
// answer. A process of its own; its argument is the directory for the journal.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openFileJournal } from '../server/src/events/file-journal.ts';
import { openJournalDirectory } from '../server/src/events/journal-files.ts';
import { systemClock } from '../server/src/kernel/clock.ts';
import { silentLog } from '../server/src/kernel/log.ts';

const directory = await openJournalDirectory(process.argv[2] ?? '');
const journal = await openFileJournal({ directory, clock: systemClock, log: silentLog });
const record = Buffer.alloc(300, 'visit ');

const server = createServer((_request, response) => {
  void journal.append(record).then((stored) => {
    response.writeHead(stored ? 302 : 500, { location: 'https://example.com/', 'content-length': 0 });
    response.end();
  });
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
// Never outlives the run that started it.
process.once('disconnect', () => process.exit());
