// Valid requests for the operations on partner programs, and what they name. A workspace gets its program with the
// first of them.
import { planIncludes } from '../http/operation.ts';
import type { TestApp, TestWorkspace } from './test-app.ts';

let made = 0;
const next = () => ++made;

async function call(t: TestApp, { key }: TestWorkspace, method: string, path: string, body?: unknown) {
  const reply = await t.request(method, path, { key, ...(body !== undefined && { body }) });
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`);
  return reply.json;
}

/** The program of the workspace, made if there is none. */
export async function ensureProgram(
  t: TestApp,
  workspace: TestWorkspace,
): Promise<{ id: string; slug: string }> {
  const program = await t.app.services.programs.find(workspace.id);
  if (program) return program;
  return call(t, workspace, 'POST', '/programs', { name: 'Partners', url: 'https://acme.example/' });
}

/** What anybody may call is not bound to a workspace: another one where this one's plan has no programs. */
function withPlan(t: TestApp, workspace: TestWorkspace): Promise<TestWorkspace> | TestWorkspace {
  return planIncludes(workspace.actor.plan, 'business') ? workspace : t.workspace();
}

export async function makePartner(t: TestApp, workspace: TestWorkspace, more: object = {}): Promise<string> {
  await ensureProgram(t, workspace);
  const body = { email: `partner${next()}@partners.example`, name: `Hidden partner ${made}`, ...more };
  return (await call(t, workspace, 'POST', '/partners', body)).id;
}

export async function makeGroup(t: TestApp, workspace: TestWorkspace): Promise<string> {
  await ensureProgram(t, workspace);
  const body = { name: `Hidden group ${next()}`, slug: `group-${made}` };
  return (await call(t, workspace, 'POST', '/groups', body)).id;
}

/** A group of its own has room for any reward. */
async function newReward(t: TestApp, workspace: TestWorkspace) {
  const groupId = await makeGroup(t, workspace);
  return {
    groupId,
    event: 'sale',
    type: 'percentage',
    amountInPercentage: 12.5,
    description: 'Hidden terms',
  };
}

async function newDiscount(t: TestApp, workspace: TestWorkspace) {
  const groupId = await makeGroup(t, workspace);
  return { groupId, type: 'percentage', amount: 20, description: 'Hidden terms' };
}

/** The default group takes applications by a form. */
async function openApplications(t: TestApp, workspace: TestWorkspace): Promise<string> {
  const { slug } = await ensureProgram(t, workspace);
  const form = { fields: [{ id: 'why', type: 'short-text', label: 'Why?', required: true }] };
  const body = { applicationForm: form, applicationFormPublished: true };
  await call(t, workspace, 'PATCH', '/groups/default', body);
  return slug;
}

const newApplication = () => ({
  group: 'default',
  name: `Hidden applicant ${next()}`,
  email: `applicant${made}@partners.example`,
  country: 'NO',
  answers: { why: 'I know many people.' },
});

/** Returns the application as reviewers see it. */
export async function makeApplication(t: TestApp, workspace: TestWorkspace) {
  const slug = await openApplications(t, workspace);
  const { id } = await call(t, workspace, 'POST', `/programs/${slug}/applications`, newApplication());
  return call(t, workspace, 'GET', `/partners/applications/${id}`);
}

async function invite(t: TestApp, workspace: TestWorkspace): Promise<string> {
  await ensureProgram(t, workspace);
  const body = { email: `invited${next()}@partners.example` };
  return (await call(t, workspace, 'POST', '/partners/invite', body)).token;
}

async function partnerAfter(t: TestApp, workspace: TestWorkspace, ...steps: string[]): Promise<object> {
  const partnerId = await makePartner(t, workspace);
  for (const step of steps) {
    const reason = step === 'ban' ? { reason: 'spam' } : {};
    await call(t, workspace, 'POST', `/partners/${step}`, { partnerId, ...reason });
  }
  return { partnerId };
}

/** Whose group gives a discount, with a link that has no code. */
async function discounted(t: TestApp, workspace: TestWorkspace): Promise<object> {
  const { groupId } = await newDiscount(t, workspace);
  await call(t, workspace, 'POST', '/discounts', { groupId, type: 'percentage', amount: 20 });
  const partnerId = await makePartner(t, workspace, { groupId });
  const [link] = await call(t, workspace, 'GET', `/partners/links?partnerId=${partnerId}`);
  return { partnerId, linkId: link.id };
}

const newBounty = () => ({ name: `Hidden bounty ${next()}`, type: 'submission', maxSubmissions: 50 });

async function makeBounty(t: TestApp, workspace: TestWorkspace): Promise<string> {
  await ensureProgram(t, workspace);
  return (await call(t, workspace, 'POST', '/bounties', { ...newBounty(), rewardAmount: 500 })).id;
}

/** The partner that embed tokens of tests are for: one in each workspace. */
async function embedded(t: TestApp, workspace: TestWorkspace): Promise<string> {
  const tenantId = `embedded-${workspace.id}`;
  return makePartner(t, workspace, { tenantId });
}

export async function embedToken(t: TestApp, workspace: TestWorkspace): Promise<string> {
  const partnerId = await embedded(t, workspace);
  return (await call(t, workspace, 'POST', '/tokens/embed/referrals', { partnerId })).publicToken;
}

/** Of the bounty that the same request names, which was made just before. */
async function makeSubmission(t: TestApp, workspace: TestWorkspace): Promise<{ id: string; path: string }> {
  const [bounty] = await call(t, workspace, 'GET', '/bounties?pageSize=1');
  const { id: programId } = await ensureProgram(t, workspace);
  // As by a token, which not every plan with bounties has.
  const actor = { ...workspace.actor, programId, partnerId: await embedded(t, workspace) };
  const { id } = await t.app.services.submissions.submit(actor, bounty.id, { description: 'Hidden work' });
  return { id, path: `/bounties/${bounty.id}/submissions` };
}

type Make<T> = (t: TestApp, workspace: TestWorkspace) => Promise<T>;

export interface Resource {
  readonly id: string;
  readonly content: readonly string[];
  snapshot(): Promise<string>;
}

/** A resource that a GET of its path shows. */
export const shown = (
  path: (id: string) => string,
  make: Make<{ id: string; content: readonly string[] }>,
): Make<Resource> => {
  return async (t, workspace) => {
    const { id, content } = await make(t, workspace);
    const snapshot = async () => (await t.request('GET', path(id), { key: workspace.key })).text;
    return { id, content, snapshot };
  };
};

export const PARTNER_RESOURCES: Readonly<Record<string, Make<Resource>>> = {
  '/programs/{programId}': shown(
    (id) => `/programs/${id}`,
    async (t, workspace) => ({
      id: (await ensureProgram(t, workspace)).id,
      content: ['https://acme.example/'],
    }),
  ),
  '/programs/{slug}': async (t, workspace) => ({
    id: await openApplications(t, await withPlan(t, workspace)),
    content: [],
    snapshot: async () => '',
  }),
  '/groups/{idOrSlug}': shown(
    (id) => `/groups/${id}`,
    async (t, workspace) => ({ id: await makeGroup(t, workspace), content: ['Hidden group'] }),
  ),
  // Of the group that the same request names, which was made just before.
  '/groups/{idOrSlug}/default-links/{defaultLinkId}': async (t, workspace) => {
    const groups = await call(t, workspace, 'GET', '/groups?sortBy=createdAt&pageSize=1');
    const path = `/groups/${groups[0].id}/default-links`;
    const { id } = await call(t, workspace, 'POST', path, { url: `https://acme.example/${next()}` });
    const snapshot = async () => (await t.request('GET', path, { key: workspace.key })).text;
    return { id, content: [], snapshot };
  },
  '/rewards/{id}': shown(
    (id) => `/rewards/${id}`,
    async (t, workspace) => {
      const { id } = await call(t, workspace, 'POST', '/rewards', await newReward(t, workspace));
      return { id, content: ['Hidden terms'] };
    },
  ),
  '/discounts/{id}': shown(
    (id) => `/discounts/${id}`,
    async (t, workspace) => {
      const { id } = await call(t, workspace, 'POST', '/discounts', await newDiscount(t, workspace));
      return { id, content: ['Hidden terms'] };
    },
  ),
  '/partners/tags/{id}': async (t, workspace) => {
    await ensureProgram(t, workspace);
    const name = `Hidden partner tag ${next()}`;
    const { id } = await call(t, workspace, 'POST', '/partners/tags', { name });
    const snapshot = async () =>
      (await t.request('GET', `/partners/tags?ids=${id}`, { key: workspace.key })).text;
    return { id, content: [name], snapshot };
  },
  '/partners/applications/{id}': shown(
    (id) => `/partners/applications/${id}`,
    async (t, workspace) => ({ id: (await makeApplication(t, workspace)).id, content: ['Hidden applicant'] }),
  ),
  '/discount-codes/{idOrCode}': async (t, workspace) => {
    const body = await discounted(t, workspace);
    const { id, code, partnerId } = await call(t, workspace, 'POST', '/discount-codes', body);
    const path = `/discount-codes?partnerId=${partnerId}`;
    return {
      id,
      content: [code],
      snapshot: async () => (await t.request('GET', path, { key: workspace.key })).text,
    };
  },
  '/bounties/{bountyId}': shown(
    (id) => `/bounties/${id}`,
    async (t, workspace) => ({ id: await makeBounty(t, workspace), content: ['Hidden bounty'] }),
  ),
  '/bounties/{bountyId}/submissions/{submissionId}': async (t, workspace) => {
    const { id, path } = await makeSubmission(t, workspace);
    const snapshot = async () => (await t.request('GET', path, { key: workspace.key })).text;
    return { id, content: ['Hidden work'], snapshot };
  },
  '/embed/referrals/links/{linkId}': async (t, workspace) => {
    const partnerId = await embedded(t, workspace);
    const { id } = await call(t, workspace, 'POST', '/partners/links', { partnerId });
    const snapshot = async () => (await t.request('GET', `/links/${id}`, { key: workspace.key })).text;
    return { id, content: [], snapshot };
  },
  '/embed/referrals/bounties/{bountyId}': async (t, workspace) => {
    await embedded(t, workspace);
    return { id: await makeBounty(t, workspace), content: [], snapshot: async () => '' };
  },
  // One that can be removed, which not all can.
  '/partners/{partnerId}': shown(
    (id) => `/partners/${id}`,
    async (t, workspace) => {
      const { partnerId } = (await partnerAfter(t, workspace, 'deactivate')) as { partnerId: string };
      return { id: partnerId, content: ['Hidden partner'] };
    },
  ),
};

export const PARTNER_BODIES: Readonly<Record<string, (t: TestApp, workspace: TestWorkspace) => unknown>> = {
  // A workspace has one: that of an earlier request makes room.
  createProgram: async (t, workspace) => {
    await t.app.db.query.deleteFrom('program').where('workspace_id', '=', workspace.id).execute();
    return { name: 'Partners', url: 'https://acme.example/' };
  },
  updateProgram: () => ({ description: `Changed ${next()}`, minPayoutAmount: 1_000 }),
  createGroup: async (t, workspace) => {
    await ensureProgram(t, workspace);
    return { name: `Group ${next()}`, slug: `new-group-${made}`, color: 'red' };
  },
  updateGroup: () => ({ name: `Renamed group ${next()}`, holdingPeriodDays: 14 }),
  addPartnersToGroup: async (t, workspace) => ({ partnerIds: [await makePartner(t, workspace)] }),
  createGroupDefaultLink: () => ({ url: `https://acme.example/${next()}` }),
  createReward: newReward,
  updateReward: () => ({ amountInPercentage: 15 }),
  createDiscount: newDiscount,
  updateDiscount: () => ({ amount: 10 }),
  createPartner: async (t, workspace) => {
    const referredByPartnerId = await makePartner(t, workspace);
    const email = `new${next()}@partners.example`;
    return { email, name: 'Mia Lund', country: 'SE', referredByPartnerId };
  },
  updatePartner: () => ({ tenantId: `tenant-${next()}` }),
  banPartner: async (t, workspace) => ({ ...(await partnerAfter(t, workspace)), reason: 'fraud' }),
  unbanPartner: (t, workspace) => partnerAfter(t, workspace, 'ban'),
  deactivatePartner: (t, workspace) => partnerAfter(t, workspace),
  reactivatePartner: (t, workspace) => partnerAfter(t, workspace, 'deactivate'),
  archivePartner: (t, workspace) => partnerAfter(t, workspace),
  unarchivePartner: (t, workspace) => partnerAfter(t, workspace, 'archive'),
  createDiscountCode: discounted,
  createBounty: async (t, workspace) => {
    await ensureProgram(t, workspace);
    return { ...newBounty(), rewardAmount: 500 };
  },
  updateBounty: () => ({ name: `Renamed bounty ${next()}`, rewardAmount: 700 }),
  // Of the bounty that the same request names, which is paid by a count now.
  updateBountySubmission: async (t, workspace) => {
    const [bounty] = await call(t, workspace, 'GET', '/bounties?pageSize=1');
    const socialMetrics = { platform: 'youtube', metric: 'views', minCount: 1_000, amount: 500 };
    const change = { rewardAmount: null, submissionRequirements: { socialMetrics } };
    await call(t, workspace, 'PATCH', `/bounties/${bounty.id}`, change);
    return { socialMetricCount: 1_200 };
  },
  approveBountySubmission: () => ({}),
  rejectBountySubmission: () => ({ rejectionReason: 'other' }),
  createReferralsEmbedToken: (t, workspace) => partnerAfter(t, workspace),
  createEmbedLink: () => ({ url: `https://acme.example/${next()}` }),
  updateEmbedLink: () => ({ key: `changed-${next()}` }),
  createEmbedBountySubmission: () => ({ description: 'Done' }),
  createPartnerTag: async (t, workspace) => {
    await ensureProgram(t, workspace);
    return { name: `Partner tag ${next()}` };
  },
  updatePartnerTag: () => ({ name: `Renamed partner tag ${next()}` }),
  tagPartners: async (t, workspace) => ({ partnerIds: [await makePartner(t, workspace)] }),
  createPartnerLink: (t, workspace) => partnerAfter(t, workspace),
  upsertPartnerLink: async (t, workspace) => ({
    ...(await partnerAfter(t, workspace)),
    url: `https://acme.example/${next()}`,
  }),
  approvePartnerApplication: async (t, workspace) => ({
    partnerId: (await makeApplication(t, workspace)).partner.id,
  }),
  rejectPartnerApplication: async (t, workspace) => ({
    partnerId: (await makeApplication(t, workspace)).partner.id,
  }),
  submitPartnerApplication: () => ({ ...newApplication(), via: 'mia-lund' }),
  invitePartner: async (t, workspace) => {
    const referredByPartnerId = await makePartner(t, workspace);
    return { email: `invited${next()}@partners.example`, referredByPartnerId };
  },
  acceptPartnerInvite: async (t, workspace) => ({ token: await invite(t, await withPlan(t, workspace)) }),
  declinePartnerInvite: async (t, workspace) => ({ token: await invite(t, await withPlan(t, workspace)) }),
};

const withProgram =
  (query = ''): Make<string> =>
  async (t, workspace) => {
    await ensureProgram(t, workspace);
    return query;
  };

export const PARTNER_QUERIES: Readonly<Record<string, Make<string>>> = {
  listGroups: withProgram(),
  listRewards: withProgram(),
  listDiscounts: withProgram(),
  listPartners: withProgram(),
  countPartners: withProgram(),
  listPartnerTags: withProgram(),
  listPartnerApplications: withProgram(),
  listDiscountCodes: withProgram(),
  listBounties: withProgram(),
  retrievePartnerAnalytics: async (t, workspace) => `?partnerId=${await makePartner(t, workspace)}`,
  getApplicationForm: async () => '?group=default',
  untagPartners: async (t, workspace) => `?partnerIds=${await makePartner(t, workspace)}`,
  retrievePartnerLinks: async (t, workspace) => `?partnerId=${await makePartner(t, workspace)}`,
};
