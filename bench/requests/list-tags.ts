// The same short list of tags over and over.
import { httpText } from '../http-text.ts';

export function createRequests({ key }: { key: string }): (i: number) => string {
  const text = httpText({
    method: 'GET',
    path: '/api/tags?pageSize=1',
    headers: { authorization: `Bearer ${key}` },
  });
  return () => text;
}
