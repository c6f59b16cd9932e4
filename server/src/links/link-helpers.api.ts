// Look-ups that help people make links: what a page calls itself, and whether it can be framed. Open to all,
// in small windows, and only so many at once, since each waits for a server that somebody else chose.
import { z } from 'zod';
import { type Operation, operation } from '../http/operation.ts';
import { completeUrl } from '../kernel/destination.ts';
import { createGate } from '../kernel/gate.ts';
import type { GuardedFetch } from '../kernel/guarded-fetch.ts';
import { checkFraming } from './iframeable.ts';
import { fetchMetatags } from './metatags.ts';

const THROTTLE = { limit: 10, windowMs: 10_000, by: 'ip' } as const;
const LOOK_UPS = { running: 50, waiting: 50 };

const page = z
  .string()
  .trim()
  .min(1)
  .max(32_000)
  .transform((text, context) => {
    const url = completeUrl(text);
    if (url !== undefined && /^https?:\/\//i.test(url)) return url;
    context.addIssue({ code: 'custom', message: 'must be an address such as https://example.com/page' });
    return z.NEVER;
  })
  .describe('The address of the page. https:// is added where no scheme is given.');

const domain = z
  .string()
  .trim()
  .toLowerCase()
  .max(255)
  .regex(/^[^\s/?#@\\]+$/, 'must be a domain name')
  .describe('The domain whose page would hold the frame.');

const metatags = z.object({
  title: z.string(),
  description: z.string(),
  image: z.string().nullable().describe('Null when the page names none, or none on a public host.'),
  poweredBy: z.string(),
});

export function linkHelperOperations({ guardedFetch }: { guardedFetch: GuardedFetch }): Operation[] {
  const gate = createGate(LOOK_UPS);
  return [
    operation({
      id: 'getMetatags',
      method: 'GET',
      path: '/links/metatags',
      group: 'Links',
      summary: 'Read the title, description and image of a page',
      description: 'Of a page that cannot be had within 5 s, the last part of its address is the title.',
      access: { by: 'nobody' },
      cors: 'GET',
      throttle: THROTTLE,
      query: z.object({ url: page }),
      response: { status: 200, description: 'What the page says about itself.', schema: metatags },
      run: async ({ query }) => ({
        ...(await gate(() => fetchMetatags(guardedFetch, query.url))),
        poweredBy: 'Linktrail',
      }),
    }),
    operation({
      id: 'checkIframeable',
      method: 'GET',
      path: '/links/iframeable',
      group: 'Links',
      summary: 'Find out whether a page can be shown in a frame',
      access: { by: 'nobody' },
      cors: 'GET',
      throttle: THROTTLE,
      query: z.object({ url: page, domain }),
      response: {
        status: 200,
        description: 'Whether browsers will show the page in a frame on the domain.',
        schema: z.object({ iframeable: z.boolean() }),
      },
      run: async ({ query }) => ({
        iframeable: await gate(() => checkFraming(guardedFetch, query.url, query.domain)),
      }),
    }),
  ];
}
