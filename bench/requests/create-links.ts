// Links to create, a hundred a request.
import { httpText } from '../http-text.ts';

export function createRequests({ key }: { key: string }): (i: number) => string {
  const headers = { authorization: `Bearer ${key}` };
  return (i) => {
    const body = Array.from({ length: 100 }, (_, item) => ({
      url: `https://shop.example/products/${i}-${item}?utm_source=mail`,
    }));
    return httpText({ method: 'POST', path: '/api/links/bulk', headers, body });
  };
}
