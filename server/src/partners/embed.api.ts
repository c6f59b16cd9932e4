// Embed tokens, and what partners call with them from pages of the seller's site.
import { z } from 'zod';
import { type Operation, operation, requires } from '../http/operation.ts';
import { listQuery } from '../http/pagination.ts';
import { isoTime } from '../kernel/clock.ts';
import { type Link, shortLink } from '../links/link.ts';
import { COMMISSION_STATUSES } from './commission-states.ts';
import { EMBED_TOKEN_PREFIX, type EmbedTokens } from './embed-tokens.ts';
import { partnerLinkSchema, presentPartnerLink } from './enrolment-wire.ts';
import type { Enrolment } from './partner.ts';
import type { Earning } from './partner-earnings.ts';
import { IMAGE_BODY_BYTES, newPartner, partnerWish } from './partner-fields.ts';
import { given } from './program.api.ts';
import type { Referrals } from './referrals.ts';

const { page, pageSize } = listQuery({ sortBy: ['createdAt'] });
const paging = z.object({ page, pageSize });

const wish = {
  url: z.string().trim().min(1).max(32_000).optional().describe('On a host that the program allows.'),
  key: z.string().trim().max(190).optional().describe('The key after the slash; random if absent or empty.'),
};

const earningSchema = z.object({
  id: z.string(),
  type: z.enum(['click', 'lead', 'sale', 'referral', 'custom']),
  amount: z.number().describe('What was sold for, in cents.'),
  earnings: z.number().describe('What the partner gets, in cents.'),
  currency: z.string(),
  quantity: z.number(),
  status: z.enum(COMMISSION_STATUSES),
  description: z.string().nullable(),
  createdAt: z.iso.datetime(),
  link: z.object({ id: z.string(), shortLink: z.string(), url: z.string() }).nullable(),
});

const leaderSchema = z.object({
  rank: z.number(),
  isYou: z.boolean().describe('Whether these are the numbers of whoever asks.'),
  clicks: z.number(),
  leads: z.number(),
  conversions: z.number(),
  sales: z.number(),
  saleAmount: z.number().describe('In cents.'),
  earnings: z.number().describe('In cents.'),
});

/** What every operation for holders of embed tokens has in common. */
export const EMBEDDED = {
  group: 'Embedded referrals',
  access: { by: 'embed_token', plan: 'advanced' },
} as const;

export function embedTokenOperations({ embedTokens }: { embedTokens: EmbedTokens }): Operation[] {
  return [
    operation({
      id: 'createReferralsEmbedToken',
      method: 'POST',
      path: '/tokens/embed/referrals',
      group: 'Embedded referrals',
      summary: 'Create an embed token for a partner',
      description: 'Good for three hours. Whoever is described in partner and not there yet is added.',
      access: requires('links.write', 'advanced'),
      body: z.object({ ...partnerWish, partner: newPartner.optional() }),
      bodyLimitBytes: IMAGE_BODY_BYTES,
      secret: true,
      response: {
        status: 201,
        description: 'The token, which is shown this once.',
        schema: z.object({
          publicToken: z.string().describe(`Begins with ${EMBED_TOKEN_PREFIX}; sent as Bearer.`),
          expires: z.iso.datetime(),
        }),
      },
      run: async ({ body }, actor) => {
        const { partner, ...who } = body;
        const request = { ...who, partner: partner && given(partner) };
        const { publicToken, expiresAt } = await embedTokens.create(actor, request);
        return { publicToken, expires: isoTime(expiresAt) };
      },
    }),
  ];
}

export function embedOperations({ referrals }: { referrals: Referrals }): Operation[] {
  return [
    operation({
      ...EMBEDDED,
      id: 'listEmbedLinks',
      method: 'GET',
      path: '/embed/referrals/links',
      summary: 'List your own links',
      cors: 'GET',
      query: paging,
      response: { status: 200, description: 'The links.', schema: z.array(partnerLinkSchema) },
      run: async ({ query }, actor) => (await referrals.listLinks(actor, query)).map(presentPartnerLink),
    }),
    operation({
      ...EMBEDDED,
      id: 'createEmbedLink',
      method: 'POST',
      path: '/embed/referrals/links',
      summary: 'Create a link of your own',
      description: 'As many as the program allows.',
      cors: 'POST',
      body: z.object(wish),
      response: { status: 201, description: 'The new link.', schema: partnerLinkSchema },
      run: async ({ body }, actor) => presentPartnerLink(await referrals.createLink(actor, body)),
    }),
    operation({
      ...EMBEDDED,
      id: 'updateEmbedLink',
      method: 'PATCH',
      path: '/embed/referrals/links/{linkId}',
      summary: 'Update a link of your own',
      description: 'Fields that are absent stay as they are.',
      cors: 'PATCH',
      params: z.object({ linkId: z.string().min(1).describe('The id of the link.') }),
      body: z.object(wish),
      response: { status: 200, description: 'The link as it is now.', schema: partnerLinkSchema },
      run: async ({ params, body }, actor) =>
        presentPartnerLink(await referrals.updateLink(actor, params.linkId, body)),
    }),
    operation({
      ...EMBEDDED,
      id: 'listEmbedEarnings',
      method: 'GET',
      path: '/embed/referrals/earnings',
      summary: 'List what you have earned',
      description: 'The newest first.',
      cors: 'GET',
      query: paging,
      response: { status: 200, description: 'The earnings.', schema: z.array(earningSchema) },
      run: async ({ query }, actor) => (await referrals.listEarnings(actor, query)).map(presentEarning),
    }),
    operation({
      ...EMBEDDED,
      id: 'listEmbedLeaders',
      method: 'GET',
      path: '/embed/referrals/leaderboard',
      summary: 'See who has earned most',
      description: 'At most 20 partners, by their numbers alone.',
      cors: 'GET',
      response: { status: 200, description: 'The first first.', schema: z.array(leaderSchema) },
      run: async (_, actor) =>
        (await referrals.listLeaders(actor)).map((leader, index) =>
          presentLeader(leader, index + 1, actor.partnerId),
        ),
    }),
  ];
}

function presentEarning({
  link,
  linkId: _,
  createdAt,
  ...earning
}: Earning & { link: Link | undefined }): z.input<typeof earningSchema> {
  const { type, status } = earning as Pick<z.input<typeof earningSchema>, 'type' | 'status'>;
  return {
    ...earning,
    type,
    status,
    createdAt: isoTime(createdAt),
    link: link ? { id: link.id, shortLink: shortLink(link.domain, link.key), url: link.url } : null,
  };
}

function presentLeader(leader: Enrolment, rank: number, own: string): z.input<typeof leaderSchema> {
  return {
    rank,
    isYou: leader.partnerId === own,
    clicks: leader.totalClicks,
    leads: leader.totalLeads,
    conversions: leader.totalConversions,
    sales: leader.totalSales,
    saleAmount: leader.totalSaleAmount,
    earnings: leader.totalCommissions,
  };
}
