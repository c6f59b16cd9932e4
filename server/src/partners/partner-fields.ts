// Fields of requests that several operations on partners take.
import { z } from 'zod';
import { createBody } from '../links/link-draft.ts';
import { MAX_EMAIL_LENGTH } from './partner.ts';

export const email = z
  .string()
  .trim()
  .max(MAX_EMAIL_LENGTH)
  .pipe(z.email())
  .describe('Whatever its case, one address is one partner.');

export const country = z
  .string()
  .trim()
  .regex(/^[A-Za-z]{2}$/, 'must be a country code of two letters such as DE')
  .toUpperCase();

export const personName = z.string().trim().max(100);
export const tenantId = z.string().trim().min(1).max(255).describe('The partner’s id in your own system.');
export const groupRef = z.string().trim().min(1).max(190).describe('The id or the slug of a group.');

/** How a body or a query names a partner of the program. */
export const partnerWish = {
  partnerId: z.string().min(1).optional().describe('The id of the partner; it wins.'),
  tenantId: tenantId.optional(),
};

export const referredByPartnerId = z
  .string()
  .trim()
  .min(1)
  .max(190)
  .describe('The partner of the program who has brought this one, and may earn by that.');

/** What may be chosen for the links of a partner; the rest is the program's. */
export const linkProps = createBody
  .pick({
    externalId: true,
    tenantId: true,
    prefix: true,
    archived: true,
    tagIds: true,
    tagNames: true,
    comments: true,
    expiresAt: true,
    expiredUrl: true,
    password: true,
    proxy: true,
    title: true,
    description: true,
    image: true,
    video: true,
    rewrite: true,
    ios: true,
    android: true,
    doIndex: true,
    testVariants: true,
    testStartedAt: true,
    testCompletedAt: true,
  })
  .describe('Properties of the links of the partner.');

export const newPartner = z.object({
  email,
  name: personName.nullable().optional(),
  username: z.string().trim().max(100).nullable().optional().describe('Becomes the key of the first link.'),
  image: z
    .url({ protocol: /^(https?|data)$/ })
    .max(7_000_000)
    .nullable()
    .optional()
    .describe('The address of an image, or a base64 data URL.'),
  tenantId: tenantId.optional(),
  groupId: groupRef.optional().describe('The id or the slug of a group; the default group if absent.'),
  referredByPartnerId: referredByPartnerId
    .optional()
    .describe('The partner of the program who has brought this one. Of no effect on who is there already.'),
  country: country.nullable().optional(),
  description: z.string().trim().max(5_000).nullable().optional(),
  linkProps: linkProps.optional(),
});

/** Who may change partners; keys need no scope for it, as existing clients expect. */
export const EDITORS = { by: 'key', roles: ['owner', 'member'], plan: 'business' } as const;
export const ANYBODY = { by: 'key', plan: 'business' } as const;

/** A picture as a data URL may come along. */
export const IMAGE_BODY_BYTES = 8 * 1024 * 1024;

export const partnerIdAnswer = z.object({ partnerId: z.string() });
