// Tags to create, each with a name of its own.
import { httpText } from '../http-text.ts';

export function createRequests({ key }: { key: string }): (i: number) => string {
  // Another run on the same data must not meet the names of this one.
  const run = `${process.pid} ${Date.now()}`;
  const headers = { authorization: `Bearer ${key}` };
  return (i) =>
    httpText({ method: 'POST', path: '/api/tags', headers, body: { name: `tag ${run} ${i}`, color: 'red' } });
}
