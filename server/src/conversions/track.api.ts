// Clicks that pages and apps report, over HTTP. Public: a browser calls these from any site.
import { z } from 'zod';
import { type Operation, operation, type RequestFacts } from '../http/operation.ts';
import { MAX_URL_LENGTH } from '../links/link.ts';
import type { ClickTracking, Reporter } from './click-tracking.ts';
import { MAX_DOMAIN_LENGTH, MAX_KEY_LENGTH } from './tracked-link.ts';

const domain = z.string().trim().min(1).max(MAX_DOMAIN_LENGTH);
const url = z.string().trim().max(MAX_URL_LENGTH);

const clickBody = z.object({
  domain: domain.describe('The domain of the link; a leading www. does not count.'),
  key: z.string().trim().min(1).max(MAX_KEY_LENGTH).describe('The key of the link.'),
  url: url
    .optional()
    .describe('The page, as the destination of the click; without a valid one it is the link’s.'),
  referrer: url.optional().describe('Where the visitor came from.'),
});

const visitBody = z.object({
  domain: domain.describe('The domain of the link; a leading www. does not count.'),
  url: url.describe('The page. Its path is the key of the link.'),
  referrer: url.optional().describe('Where the visitor came from.'),
});

const openBody = z.object({
  deepLink: url
    .min(1)
    .optional()
    .describe('The short link that opened the app; https:// is added where no scheme is given.'),
  dubDomain: domain
    .optional()
    .describe('Alone: asks for the visit that this address made on the domain before it installed the app.'),
});

const noTrackQuery = z.object({
  'dub-no-track': z
    .string()
    .optional()
    .describe('With any value: nothing is recorded. A header of the same name does the same.'),
});

const clickSchema = z.object({
  clickId: z.string().describe('To be sent with conversions. Robots get one too, without a recorded click.'),
});

const textOrNull = z.string().nullable();

const partnerClickSchema = clickSchema.extend({
  partner: z
    .object({
      id: z.string(),
      name: z.string(),
      image: textOrNull,
      groupId: textOrNull,
      tenantId: textOrNull.describe('The partner’s id in your own system.'),
    })
    .optional()
    .describe('For links of partners.'),
  discount: z
    .object({
      id: z.string(),
      amount: z.number().describe('Cents for flat, a percentage otherwise.'),
      type: z.enum(['percentage', 'flat']),
      maxDuration: z.number().nullable().describe('Months; 0: once, null: for ever.'),
      couponId: textOrNull,
      couponTestId: textOrNull,
    })
    .nullable()
    .optional()
    .describe('What customers of the partner pay less; for links of partners.'),
});

const openSchema = z.object({
  clickId: z.string().nullable().describe('Null when no click was recorded.'),
  link: z
    .object({ id: z.string(), domain: z.string(), key: z.string(), url: z.string() })
    .nullable()
    .describe('Null when no earlier visit was found. A link with a password shows its short form as url.'),
});

const ONCE_AN_HOUR = 'The same visitor of the same link counts once an hour and gets the same id again.';

export function trackOperations({ clickTracking }: { clickTracking: ClickTracking }): Operation[] {
  const common = {
    method: 'POST',
    group: 'Tracking',
    access: { by: 'nobody' },
    cors: 'POST',
    query: noTrackQuery,
  } as const;
  return [
    operation({
      ...common,
      id: 'trackClick',
      path: '/track/click',
      summary: 'Report a click from a page',
      description: `${ONCE_AN_HOUR} Only sites among the allowed hostnames of the workspace may.`,
      body: clickBody,
      response: { status: 200, description: 'The click, and the partner.', schema: partnerClickSchema },
      run: ({ body, query, request }) => clickTracking.click(body, reporterOf(request, query)),
    }),
    operation({
      ...common,
      id: 'trackVisit',
      path: '/track/visit',
      summary: 'Report a visit to a page',
      description: `${ONCE_AN_HOUR} Sites that are not among the allowed hostnames get an id, and nothing is recorded.`,
      body: visitBody,
      response: { status: 200, description: 'The id of the click.', schema: clickSchema },
      run: ({ body, query, request }) => clickTracking.visit(body, reporterOf(request, query)),
    }),
    operation({
      ...common,
      id: 'trackOpen',
      path: '/track/open',
      summary: 'Report that an app was opened',
      description: `By a deep link, or for the first time after an app store. ${ONCE_AN_HOUR}`,
      body: openBody,
      response: { status: 200, description: 'The click and its link.', schema: openSchema },
      run: ({ body, query, request }) => clickTracking.open(body, reporterOf(request, query)),
    }),
  ];
}

function reporterOf({ ip, header }: RequestFacts, query: z.output<typeof noTrackQuery>): Reporter {
  return { ip, header, noTrack: query['dub-no-track'] !== undefined };
}
