// Applications and invitations over HTTP: what the program's people do, and what anybody may do.
import { z } from 'zod';
import { idParams, type Operation, operation, requires } from '../http/operation.ts';
import { isoTime } from '../kernel/clock.ts';
import { AppError, invalid } from '../kernel/errors.ts';
import { applicationFormSchema, SOCIAL_FIELDS } from './application-form.ts';
import { applicationSchema, presentApplication } from './application-wire.ts';
import type { Applications } from './applications.ts';
import { ENROLMENT_STATUSES } from './enrolment-states.ts';
import { enrolledPartnerSchema, presentEnrolled } from './enrolment-wire.ts';
import type { Invitations } from './invitations.ts';
import { APPLICATION_REJECTIONS, REAPPLICATIONS } from './partner.ts';
import {
  ANYBODY,
  country,
  EDITORS,
  email,
  groupRef,
  partnerIdAnswer,
  personName,
  referredByPartnerId,
  tenantId,
} from './partner-fields.ts';

const MINUTE_MS = 60_000;
const MAX_ANSWERS = 100;
const PUBLIC_PARAMS = z.object({ slug: z.string().min(1).max(190).describe('The slug of the program.') });

const socials = z.object(
  Object.fromEntries(SOCIAL_FIELDS.map((name) => [name, z.string().max(500).optional()])) as Record<
    (typeof SOCIAL_FIELDS)[number],
    z.ZodOptional<z.ZodString>
  >,
);

export interface ApplicationApiParts {
  readonly applications: Applications;
  readonly invitations: Invitations;
}

export function applicationOperations({ applications, invitations }: ApplicationApiParts): Operation[] {
  return [
    ...reviewOperations(applications),
    ...publicOperations(applications),
    ...invitationOperations(invitations),
  ];
}

function reviewOperations(applications: Applications): Operation[] {
  return [
    operation({
      id: 'listPartnerApplications',
      method: 'GET',
      path: '/partners/applications',
      group: 'Partner applications',
      summary: 'List applications that wait for an answer, the newest first',
      access: ANYBODY,
      query: z.object({
        country: country.optional(),
        groupId: z.string().min(1).optional(),
        page: z.int().min(1).default(1).describe('The page, counted from 1.'),
        pageSize: z.int().min(1).max(100).default(100).describe('Rows per page.'),
      }),
      response: { status: 200, description: 'The applications.', schema: z.array(applicationSchema) },
      run: async ({ query }, actor) => (await applications.list(actor, query, query)).map(presentApplication),
    }),
    operation({
      id: 'approvePartnerApplication',
      method: 'POST',
      path: '/partners/applications/approve',
      group: 'Partner applications',
      summary: 'Approve an application',
      access: EDITORS,
      body: z.object({
        partnerId: z.string().min(1),
        groupId: groupRef.optional().describe('The group that was applied to if absent.'),
      }),
      response: { status: 200, description: 'The partner has joined the program.', schema: partnerIdAnswer },
      run: ({ body }, actor) => applications.approve(actor, body),
    }),
    operation({
      id: 'rejectPartnerApplication',
      method: 'POST',
      path: '/partners/applications/reject',
      group: 'Partner applications',
      summary: 'Reject an application',
      access: EDITORS,
      body: z.object({
        partnerId: z.string().min(1),
        rejectionReason: z.enum(APPLICATION_REJECTIONS).optional(),
        rejectionNote: z.string().trim().max(500).optional(),
        reapplicationTimeframe: z
          .enum(REAPPLICATIONS)
          .default('standard')
          .describe('When the person may apply again: after 30 days, at once, or never.'),
        flagForFraud: z.boolean().optional(),
        flagForFraudReason: z.string().trim().max(2_000).optional(),
      }),
      response: { status: 200, description: 'The application is rejected.', schema: partnerIdAnswer },
      run: async ({ body }, actor) => {
        if (body.flagForFraud && body.reapplicationTimeframe === 'instant') {
          throw new AppError('bad_request', 'custom: flagForFraud: does not go with reapplying at once');
        }
        if (body.flagForFraud && !body.flagForFraudReason) {
          throw new AppError('bad_request', 'custom: flagForFraudReason: is required with flagForFraud');
        }
        return applications.reject(actor, body);
      },
    }),
    operation({
      id: 'getPartnerApplication',
      method: 'GET',
      path: '/partners/applications/{id}',
      group: 'Partner applications',
      summary: 'Retrieve an application',
      access: ANYBODY,
      params: idParams('application'),
      response: { status: 200, description: 'The application.', schema: applicationSchema },
      run: async ({ params }, actor) => presentApplication(await applications.get(actor, params.id)),
    }),
  ];
}

const formSchema = z.object({
  program: z.object({
    name: z.string(),
    slug: z.string(),
    logo: z.string().nullable(),
    description: z.string().nullable(),
    termsUrl: z.string().nullable(),
    helpUrl: z.string().nullable(),
    supportEmail: z.string().nullable(),
  }),
  group: z.object({ name: z.string(), slug: z.string() }),
  form: applicationFormSchema,
});

function publicOperations(applications: Applications): Operation[] {
  return [
    operation({
      id: 'getApplicationForm',
      method: 'GET',
      path: '/programs/{slug}/application-form',
      group: 'Partner applications',
      summary: 'Retrieve the form to apply to a program with',
      access: { by: 'nobody' },
      throttle: { limit: 60, windowMs: MINUTE_MS, by: 'ip' },
      params: PUBLIC_PARAMS,
      query: z.object({ group: groupRef.optional().describe('The default group if absent.') }),
      response: { status: 200, description: 'The form.', schema: formSchema },
      run: async ({ params, query }) => {
        const { program, group, form } = await applications.getForm(params.slug, query.group);
        const { name, slug, logo, description, termsUrl, helpUrl, supportEmail } = program;
        return {
          program: { name, slug, logo, description, termsUrl, helpUrl, supportEmail },
          group: { name: group.name, slug: group.slug },
          form,
        };
      },
    }),
    operation({
      id: 'submitPartnerApplication',
      method: 'POST',
      path: '/programs/{slug}/applications',
      group: 'Partner applications',
      summary: 'Apply to a program',
      description: 'Three times a minute from one address. The group must have a published form.',
      access: { by: 'nobody' },
      throttle: { limit: 3, windowMs: MINUTE_MS, by: 'ip-and-path' },
      params: PUBLIC_PARAMS,
      body: z.object({
        group: groupRef.optional().describe('The default group if absent.'),
        name: personName.min(1),
        email,
        country: country.nullable().optional(),
        answers: z
          .record(z.string(), z.union([z.string(), z.array(z.string()).max(100), z.null()]))
          .refine((answers) => Object.keys(answers).length <= MAX_ANSWERS, `at most ${MAX_ANSWERS} answers`)
          .default({})
          .describe('By the id of the field.'),
        socials: socials.default({}),
        via: z
          .string()
          .trim()
          .max(600)
          .optional()
          .describe(
            'Who has brought the applicant: the key of a link of a partner, or the id of a click on one (dub_id). Anything else is passed over.',
          ),
      }),
      response: {
        status: 201,
        description: 'The application has been received.',
        schema: z.object({ id: z.string(), status: z.enum(ENROLMENT_STATUSES) }),
      },
      run: async ({ params, body }) => {
        const { application, enrolment } = await applications.submit(params.slug, {
          ...body,
          socials: checkedSocials(body.socials),
        });
        return { id: application.id, status: enrolment.status };
      },
    }),
  ];
}

function checkedSocials(given: z.output<typeof socials>) {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [name, value] of entries) {
    if (/[\p{Cc}<>"]/u.test(value as string))
      throw invalid(`socials.${name}`, 'must be an address or a handle');
  }
  return Object.fromEntries(entries) as Record<string, string>;
}

const tokenBody = z.object({ token: z.string().min(1).max(200).describe('The secret of the invitation.') });
const answered = z.object({ partnerId: z.string(), programId: z.string() });

function invitationOperations(invitations: Invitations): Operation[] {
  return [
    operation({
      id: 'invitePartner',
      method: 'POST',
      path: '/partners/invite',
      group: 'Partner applications',
      summary: 'Invite somebody into the program',
      description:
        'No mail is sent: pass the secret on, in a link to a page of yours that accepts or declines with it. Valid for 14 days; inviting again replaces it.',
      access: requires('partners.write', 'business'),
      body: z.object({
        email,
        name: personName.nullable().optional(),
        groupId: groupRef.optional(),
        tenantId: tenantId.optional(),
        referredByPartnerId: referredByPartnerId.optional(),
      }),
      secret: true,
      response: {
        status: 201,
        description: 'The invitation.',
        schema: z.object({
          partner: enrolledPartnerSchema,
          token: z.string().describe('Shown once.'),
          expiresAt: z.iso.datetime(),
        }),
      },
      run: async ({ body }, actor) => {
        const { shown, token, expiresAt } = await invitations.create(actor, body);
        return { partner: presentEnrolled(shown), token, expiresAt: isoTime(expiresAt) };
      },
    }),
    ...(['accept', 'decline'] as const).map((answer) =>
      operation({
        id: `${answer}PartnerInvite`,
        method: 'POST',
        path: `/partners/invites/${answer}`,
        group: 'Partner applications',
        summary: answer === 'accept' ? 'Accept an invitation' : 'Decline an invitation',
        access: { by: 'nobody' },
        throttle: { limit: 10, windowMs: MINUTE_MS, by: 'ip' },
        body: tokenBody,
        response: { status: 200, description: 'Done.', schema: answered },
        run: ({ body }) => invitations[answer](body.token),
      }),
    ),
  ];
}
