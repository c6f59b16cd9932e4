// Tables that are printed while their rows still come.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTable } from './table.ts';

const COLUMNS = [
  { title: 'ID', text: ({ id }: Record<string, unknown>) => String(id) },
  { title: 'NAME', text: ({ name }: Record<string, unknown>) => String(name) },
];

async function print(rows: readonly Record<string, unknown>[]): Promise<string[]> {
  const writes: string[] = [];
  const table = createTable(COLUMNS, async (text) => {
    writes.push(text);
  });
  for (const row of rows) await table.add(row);
  await table.end();
  return writes;
}

test('columns are as wide as what they hold, and lines end without spaces', async () => {
  const [text] = await print([
    { id: 'a-long-id', name: 'x' },
    { id: 'b', name: 'a long name' },
  ]);
  assert.equal(text, 'ID         NAME\na-long-id  x\nb          a long name\n');
});

test('no rows still print the titles', async () => {
  assert.deepEqual(await print([]), ['ID  NAME\n']);
});

test('a long list is printed in pieces, each row once, the titles once', async () => {
  const rows = Array.from({ length: 1_050 }, (_, i) => ({ id: i, name: `row ${i}` }));
  const writes = await print(rows);
  assert.ok(writes.length > 5);
  const lines = writes.join('').trimEnd().split('\n');
  assert.equal(lines.length, 1_051);
  assert.deepEqual(
    [lines[0]?.split(/ +/)[0], lines[1_050]],
    ['ID', '1049  row 1049'].map((text) => text),
  );
});

test('control characters of names do not reach the terminal', async () => {
  const [text] = await print([{ id: 1, name: 'a\u001b[31mb\nc' }]);
  assert.equal(text?.split('\n')[1], '1   a\uFFFD[31mb\uFFFDc');
});
