// JSON bodies that differ from call to call, for a server that sends them back.
import { httpText } from '../http-text.ts';

export function createRequests(): (i: number) => string {
  return (i) => httpText({ method: 'POST', path: '/', body: { name: `name ${i}`, color: 'red' } });
}
