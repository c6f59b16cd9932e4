// Visits of a short link, each from another visitor.
import { httpText } from '../http-text.ts';

export function createRequests(): (i: number) => string {
  return (i) =>
    httpText({ method: 'GET', path: '/spring', headers: { 'user-agent': `Mozilla/5.0 (visitor ${i})` } });
}
