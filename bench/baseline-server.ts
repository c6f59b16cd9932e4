// The process behind baseline.ts: the least a Node server can do for the same kind of answer.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const HANDLERS: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
  echo(request, response) {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const text = JSON.stringify(JSON.parse(Buffer.concat(parts).toString() || '{}'));
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
      });
      response.end(text);
    });
  },
  redirect(_request, response) {
    response.writeHead(302, { location: 'https://example.com/', 'content-length': 0 });
    response.end();
  },
};

const handler = HANDLERS[process.argv[2] ?? ''];
if (!handler) throw new Error(`unknown kind of baseline: ${process.argv[2]}`);
const server = createServer(handler);
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
// Never outlives the run that started it.
process.once('disconnect', () => process.exit());
