#!/usr/bin/env node
// Starts the command line. Plain JavaScript, so that an old Node gets a clear answer and not a syntax error.
import { fileURLToPath } from 'node:url';

const major = Number.parseInt(process.versions.node, 10);
if (major < 24) {
  process.stderr.write(
    `Linktrail needs Node 24 or later, and this is Node ${process.versions.node}. ` +
      'In the project folder, npx linktrail uses the Node that comes with it.\n',
  );
  process.exit(1);
}
// Halves the time to start. Kept inside the project, where nobody else can put anything; without the right
// to write there Node goes on without it.
const { enableCompileCache } = await import('node:module');
enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/linktrail', import.meta.url)));
await import('../src/cli.ts');
