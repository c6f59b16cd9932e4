// The server process: configuration → app → port; signals → drain → exit 0.
import { startServer } from './serve.ts';

await startServer();
