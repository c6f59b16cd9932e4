// What a caller asks of a link, after the schema has read it and before the rules have.
import { z } from 'zod';
import { MAX_URL_LENGTH } from './link.ts';
import { CAMPAIGN_FIELDS, type CampaignField } from './link-url.ts';

const text = (max: number) => z.string().max(max);
const destination = text(MAX_URL_LENGTH).trim();
const flag = z.boolean().optional();
/** Short, because reading dates in words takes time that grows with the text. */
const date = text(100).nullable().optional();
/** Cut to their length by the rules, not refused. */
const cutText = z.string().nullable().optional();

const MAX_TAGS = 100;
const MAX_WEBHOOKS = 100;
const MAX_COUNTRIES = 300;
const MAX_COMMENT_LENGTH = 10_000;

/** A comma list or an array, as an array without repeats. */
const list = z
  .union([z.string(), z.array(z.string())])
  .transform((value) => [
    ...new Set((Array.isArray(value) ? value : value.split(',')).map((item) => item.trim()).filter(Boolean)),
  ])
  .refine((items) => items.length <= MAX_TAGS, `at most ${MAX_TAGS} tags`)
  .optional();

const campaign = Object.fromEntries(
  CAMPAIGN_FIELDS.map((field) => [
    field,
    text(255)
      .trim()
      .transform((value) => value || null)
      .nullable()
      .optional()
      .describe(
        field === 'ref'
          ? 'The ref parameter of the destination.'
          : `The ${field} parameter of the destination.`,
      ),
  ]),
) as Record<
  CampaignField,
  z.ZodOptional<z.ZodNullable<z.ZodPipe<z.ZodString, z.ZodTransform<string | null, string>>>>
>;

/** Fields that every form of the call takes. */
const common = {
  tenantId: text(255).nullable().optional().describe('The tenant of your system that the link belongs to.'),
  programId: z.string().nullable().optional().describe('The partner program of the link.'),
  partnerId: z.string().nullable().optional().describe('The partner of the link.'),
  trackConversion: flag.describe('Whether leads and sales are tracked.'),
  archived: flag.describe('Hides the link from lists; it keeps working.'),
  publicStats: flag.describe('Whether anybody may see the statistics.'),
  tagIds: list.describe('The ids of the tags.'),
  tagId: z.string().nullable().optional().describe('The id of the only tag; tagIds wins.'),
  tagNames: list.describe('The names of the tags; ids win.'),
  folderId: z
    .string()
    .transform((value) => value || null)
    .nullable()
    .optional()
    .describe('The folder of the link.'),
  comments: text(MAX_COMMENT_LENGTH).nullable().optional().describe('Notes for the team.'),
  expiresAt: date.describe('When the link expires: a date, or words such as "in 3 days".'),
  expiredUrl: destination.nullable().optional().describe('Where visitors go after that.'),
  password: text(255).nullable().optional().describe('The password visitors must give.'),
  proxy: flag.describe('Whether previews show title, description, image and video of the link.'),
  title: cutText.describe('The title of previews, cut to 120 characters.'),
  description: cutText.describe('The description of previews, cut to 240 characters.'),
  image: z.string().nullable().optional().describe('The image of previews: an address, or a data URL.'),
  video: text(MAX_URL_LENGTH).nullable().optional().describe('The video of previews.'),
  rewrite: flag.describe('Whether the destination is shown under the short link.'),
  ios: destination.nullable().optional().describe('The destination on iOS.'),
  android: destination.nullable().optional().describe('The destination on Android.'),
  geo: z
    .record(z.string().max(190), destination)
    .refine(
      (countries) => Object.keys(countries).length <= MAX_COUNTRIES,
      `at most ${MAX_COUNTRIES} countries`,
    )
    .nullable()
    .optional()
    .describe('Destinations by two-letter country code, in upper case.'),
  doIndex: flag.describe('Whether search engines may index the short link.'),
  ...campaign,
  webhookIds: z
    .array(z.string())
    .max(MAX_WEBHOOKS)
    .nullable()
    .optional()
    .describe('Webhooks that hear of clicks on this link.'),
  testVariants: z
    .array(z.object({ url: destination, percentage: z.number().min(10).max(90) }))
    .min(2)
    .max(4)
    .nullable()
    .optional()
    .describe('Destinations of an A/B test and their shares.'),
  testStartedAt: date.describe('When the test began.'),
  testCompletedAt: date.describe('When the test ends.'),
};

const url = destination.describe('The destination.');
const identity = {
  domain: text(190)
    .trim()
    .optional()
    .describe("The domain; the workspace's primary domain, or the default domain, if absent."),
  key: text(190).optional().describe('The key after the slash; random if absent or empty.'),
  externalId: text(255)
    .min(1)
    .nullable()
    .optional()
    .describe('The id of the link in your own database, unique in the workspace.'),
};

export const createBody = z.object({
  url,
  ...identity,
  keyLength: z.int().min(3).max(190).optional().describe('The length of a random key. 7 if absent.'),
  prefix: text(190).optional().describe('A path in front of a random key.'),
  ...common,
});
export const updateBody = z.object({ url: url.optional(), ...identity, ...common });
export const bulkUpdateData = z.object({ url: url.optional(), ...common });

type Created = z.output<typeof createBody>;
export type LinkDraft = { readonly [K in keyof Created]?: Created[K] | undefined };
