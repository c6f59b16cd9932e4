// Links to create, one a request, each with a destination of its own.
import { httpText } from '../http-text.ts';

export function createRequests({ key }: { key: string }): (i: number) => string {
  const headers = { authorization: `Bearer ${key}` };
  return (i) =>
    httpText({
      method: 'POST',
      path: '/api/links',
      headers,
      body: { url: `https://shop.example/products/${i}?utm_source=mail` },
    });
}
