#!/usr/bin/env node
// Starts the command line. Plain JavaScript, so that an old Node gets a clear answer and not a syntax error.
const major = Number.parseInt(process.versions.node, 10);
if (major < 24) {
  process.stderr.write(
    `Linktrail needs Node 24 or later, and this is Node ${process.versions.node}. ` +
      'In the project folder, npx linktrail uses the Node that comes with it.\n',
  );
  process.exit(1);
}
await import('../src/cli.ts');
