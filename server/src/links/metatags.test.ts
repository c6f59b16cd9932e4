import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decodeText, metatagsOf, NO_DESCRIPTION, readHead } from './metatags.ts';

const page = { asked: 'https://page.example/dir/post', answered: 'https://www.page.example/dir/post' };
const read = async (html: string) => metatagsOf(await readHead(html), page);
const og = (name: string, content: string) => `<meta property="og:${name}" content="${content}">`;
const twitter = (name: string, content: string) => `<meta name="twitter:${name}" content="${content}">`;

describe('the title', () => {
  for (const [what, html, expected] of [
    ['og before twitter before title', `<title>T</title>${twitter('title', 'W')}${og('title', 'O')}`, 'O'],
    ['twitter before title', `<title>T</title>${twitter('title', 'W')}`, 'W'],
    ['title', '<title>T</title>', 'T'],
    ['the address where there is none', '<p>text', page.asked],
    ['the first of two', '<title>A</title><title>B</title>', 'A'],
    ['an empty og title counts as none', `${og('title', ' ')}<title>T</title>`, 'T'],
    ['entities and white space', '<title>\n  Caf&eacute; &amp;\t&#128512; &#x41; </title>', 'Café & 😀 A'],
    ['entities in attributes', og('title', 'A &quot;B&quot; &lt;C&gt;'), 'A "B" <C>'],
    ['without quotes and in capitals', '<META PROPERTY=og:title CONTENT=Word>', 'Word'],
    ['name instead of property', '<meta name="og:title" content="N">', 'N'],
    ['not one in a comment', '<!-- <title>no</title> --><title>yes</title>', 'yes'],
    ['not one in a script', '<script>"<title>no</title>"</script><title>yes</title>', 'yes'],
    ['not one in the body', '<head></head><body><title>no</title></body>', page.asked],
    ['not one of a drawing after the head', '<title>T</title></head><svg><title>no</title></svg>', 'T'],
    ['a document that was cut', '<head><title>Half of', 'Half of'],
    ['no longer than 500', `<title>${'x'.repeat(1_000)}</title>`, 'x'.repeat(500)],
  ] as const) {
    test(what, async () => assert.equal((await read(html)).title, expected));
  }
});

describe('the description', () => {
  const meta = '<meta name="Description" content="M">';
  for (const [what, html, expected] of [
    ['meta before og before twitter', `${twitter('description', 'W')}${og('description', 'O')}${meta}`, 'M'],
    ['og before twitter', `${twitter('description', 'W')}${og('description', 'O')}`, 'O'],
    ['twitter', twitter('description', 'W'), 'W'],
    ['a fixed text where there is none', '', NO_DESCRIPTION],
    ['no longer than 1000', og('description', 'x'.repeat(2_000)), 'x'.repeat(1_000)],
  ] as const) {
    test(what, async () => assert.equal((await read(html)).description, expected));
  }
});

describe('the image', () => {
  const src = '<link rel="image_src" href="/src.png">';
  const icon = '<link rel="shortcut icon" href="icon.png">';
  const site = 'https://www.page.example';
  for (const [what, html, expected] of [
    [
      'og before twitter',
      `${icon}${src}${twitter('image', '/w.png')}${og('image', '/o.png')}`,
      `${site}/o.png`,
    ],
    ['twitter before image_src', `${icon}${src}${twitter('image', '/w.png')}`, `${site}/w.png`],
    ['image_src before icon', `${icon}${src}`, `${site}/src.png`],
    ['icon, relative to where the page was found', icon, `${site}/dir/icon.png`],
    ['another host', og('image', '//cdn.example/a.png'), 'https://cdn.example/a.png'],
    ['none', '<title>T</title>', null],
    ['localhost', og('image', 'http://localhost/a.png'), null],
    ['a name without a dot', og('image', 'http://intranet/a.png'), null],
    ['a local name', og('image', 'http://nas.local/a.png'), null],
    ['an IPv4 address', og('image', 'http://192.168.0.1/a.png'), null],
    ['an IPv6 address', og('image', 'http://[::1]/a.png'), null],
    ['data', og('image', 'data:image/png;base64,AAAA'), null],
    ['a script', og('image', 'javascript:alert(1)'), null],
    ['no address', og('image', 'http://'), null],
  ] as const) {
    test(what, async () => assert.equal((await read(html)).image, expected));
  }
});

describe('text', () => {
  const latin = Buffer.from('<meta charset="windows-1251"><title>\xcf\xf0\xe8\xe2\xe5\xf2</title>', 'latin1');
  for (const [what, bytes, type, expected] of [
    ['is UTF-8 by default', Buffer.from('é'), 'text/html', 'é'],
    ['has the charset of its header', Buffer.from('\xe9', 'latin1'), 'text/html; charset="ISO-8859-1"', 'é'],
    ['has the charset of its meta element', latin, 'text/html', 'Привет'],
    ['of an unknown charset is read as UTF-8', Buffer.from('é'), 'text/html; charset=klingon', 'é'],
    ['follows its byte order mark first', Buffer.from('\ufeffé', 'utf16le'), 'text/html; charset=utf-8', 'é'],
    ['in another script', Buffer.from([0x93, 0xfa, 0x96, 0x7b]), 'text/html;charset=Shift_JIS', '日本'],
  ] as const) {
    test(what, () => assert.ok(decodeText(bytes, type).includes(expected)));
  }
});
