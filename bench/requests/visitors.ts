// Visits of short links, each from another visitor: another address, and one of the usual browsers. With one
// path it is always that link; with a number of links it is one of them at random.
import { httpText } from '../http-text.ts';
import { keyOfLink } from '../visit-fill.ts';

const BROWSERS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
];

export function createRequests(wanted: { path: string } | { links: number }): (i: number) => string {
  // Another run must not bring the visitors of the one before.
  const run = Math.floor(Math.random() * 0x7fff_ffff);
  const pathOf =
    'path' in wanted ? () => wanted.path : () => `/${keyOfLink(Math.floor(Math.random() * wanted.links))}`;
  return (i) =>
    httpText({
      method: 'GET',
      path: pathOf(),
      headers: {
        'user-agent': BROWSERS[i % BROWSERS.length] as string,
        'x-forwarded-for': addressOf(run + i),
        referer: 'https://news.example/today',
        accept: 'text/html',
      },
    });
}

/** A public address for every number: from 16.0.0.0 on. */
function addressOf(n: number): string {
  const low = n % 0x1000000;
  return `${16 + (Math.floor(n / 0x1000000) % 80)}.${low >> 16}.${(low >> 8) & 255}.${low & 255}`;
}
