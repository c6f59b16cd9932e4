import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { destinationOf } from './test-variant.ts';

const variants = (...urls: string[]) => urls.map((url) => ({ url, percentage: 50 }));
const PAGES = variants('https://a.example/', 'https://b.example/x');
const QUERIES = variants('https://a.example/?v=1', 'https://a.example/?v=2&w=1');

describe('the destination under test', () => {
  for (const [what, url, tested, destination] of [
    [
      'is the variant, whatever was added',
      'https://b.example/x?dub_id=1&via=k',
      PAGES,
      'https://b.example/x',
    ],
    [
      'is the variant in the form the link has it',
      'https://a.example/?dub_id=1',
      variants('https://A.example'),
      'https://A.example',
    ],
    [
      'is told apart by its query',
      'https://a.example/?v=2&w=1&dub_id=1',
      QUERIES,
      'https://a.example/?v=2&w=1',
    ],
    [
      'is told apart by what a visit left of its query',
      'https://a.example/?v=9&w=1',
      QUERIES,
      'https://a.example/?v=2&w=1',
    ],
    ['is the click’s own without a test', 'https://a.example/?dub_id=1', null, 'https://a.example/?dub_id=1'],
    ['is the click’s own where no variant fits', 'https://a.example/other', PAGES, 'https://a.example/other'],
    ['is the click’s own when that is no address', 'nowhere', PAGES, 'nowhere'],
    [
      'passes a variant that is no address',
      'https://a.example/',
      variants('nope', 'https://a.example'),
      'https://a.example',
    ],
  ] as const) {
    test(what, () => assert.equal(destinationOf(url, tested), destination));
  }
});
