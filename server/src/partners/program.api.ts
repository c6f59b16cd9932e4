// The partner program over HTTP.
import { z } from 'zod';
import { type Operation, operation, requires } from '../http/operation.ts';
import { type Clock, isoTime } from '../kernel/clock.ts';
import { MIN_PAYOUT_AMOUNTS, PAYOUT_MODES, type Program, REWARD_EVENTS } from './program.ts';
import type { Programs } from './programs.ts';

const textOrNull = z.string().nullable();

const requirementSchema = z.object({
  key: z.enum(['country', 'emailDomain']),
  operator: z.enum(['is', 'is_not']),
  value: z.array(z.string().trim().min(1).max(190)).min(1).max(250),
});

const programSchema = z
  .object({
    id: z.string(),
    workspaceId: z.string(),
    name: z.string(),
    slug: z.string().describe('Names the program where people apply to it.'),
    domain: textOrNull.describe('The domain of partner links.'),
    url: textOrNull.describe('Where partner links lead.'),
    logo: textOrNull,
    description: textOrNull,
    minPayoutAmount: z.number().describe('In cents.'),
    payoutMode: z.enum(PAYOUT_MODES),
    primaryRewardEvent: z.enum(REWARD_EVENTS),
    defaultFolderId: textOrNull,
    defaultGroupId: textOrNull,
    supportEmail: textOrNull,
    helpUrl: textOrNull,
    termsUrl: textOrNull,
    applicationRequirements: z.array(requirementSchema).nullable(),
    deactivatedAt: z.iso.datetime().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Program', description: 'A partner program.' });

/** A picture of 5 MB as a data URL. */
const MAX_LOGO_LENGTH = 7_000_000;
const LOGO_BODY_BYTES = 8 * 1024 * 1024;

const address = z.string().trim().min(1).max(32_000);
const name = z.string().trim().min(1).max(100);
const url = address.describe('Where partner links lead.');

const fields = {
  domain: z
    .string()
    .trim()
    .min(1)
    .max(190)
    .optional()
    .describe('A domain of the workspace; its primary domain, or the default domain, if absent.'),
  logo: z
    .url({ protocol: /^(https?|data)$/ })
    .max(MAX_LOGO_LENGTH)
    .nullable()
    .optional()
    .describe('The address of an image, or a base64 data URL.'),
  description: z.string().trim().max(5_000).nullable().optional(),
  minPayoutAmount: z.literal(MIN_PAYOUT_AMOUNTS).optional().describe('In cents.'),
  payoutMode: z.enum(PAYOUT_MODES).optional(),
  primaryRewardEvent: z.enum(REWARD_EVENTS).optional(),
  supportEmail: z.email().max(190).nullable().optional(),
  helpUrl: address.nullable().optional(),
  termsUrl: address.nullable().optional(),
  applicationRequirements: z
    .array(requirementSchema)
    .max(20)
    .nullable()
    .optional()
    .describe('Applications that do not fit all of these are rejected after half an hour.'),
};

const createBody = z.object({ name, url, ...fields });
const updateBody = z.object({
  name: name.optional(),
  url: url.optional(),
  ...fields,
  deactivated: z.boolean().optional().describe('A deactivated program takes no applications.'),
});

const PARAMS = z.object({ programId: z.string().min(1).describe('The id or the slug of the program.') });

export interface ProgramApiParts {
  readonly programs: Programs;
  readonly files: { saveImage(dataUrl: string, field: string): Promise<string> };
  readonly clock: Clock;
}

export function programOperations({ programs, files, clock }: ProgramApiParts): Operation[] {
  async function withLogo<B extends { logo?: string | null | undefined }>(body: B): Promise<B> {
    if (!body.logo?.startsWith('data:')) return body;
    return { ...body, logo: await files.saveImage(body.logo, 'logo') };
  }

  return [
    operation({
      id: 'createProgram',
      method: 'POST',
      path: '/programs',
      group: 'Programs',
      summary: 'Create the partner program of the workspace',
      description: 'With a folder for its links and a default group. A workspace has one program.',
      access: requires('programs.write', 'business'),
      body: createBody,
      bodyLimitBytes: LOGO_BODY_BYTES,
      response: { status: 201, description: 'The new program.', schema: programSchema },
      run: async ({ body }, actor) => present(await programs.create(actor, given(await withLogo(body)))),
    }),
    operation({
      id: 'getProgram',
      method: 'GET',
      path: '/programs/{programId}',
      group: 'Programs',
      summary: 'Retrieve the program',
      access: requires('programs.read', 'business'),
      params: PARAMS,
      response: { status: 200, description: 'The program.', schema: programSchema },
      run: async ({ params }, actor) => present(await programs.get(actor, params.programId)),
    }),
    operation({
      id: 'updateProgram',
      method: 'PATCH',
      path: '/programs/{programId}',
      group: 'Programs',
      summary: 'Update the program',
      description: 'Fields that are absent stay as they are; null clears a field.',
      access: requires('programs.write', 'business'),
      params: PARAMS,
      body: updateBody,
      bodyLimitBytes: LOGO_BODY_BYTES,
      response: { status: 200, description: 'The program as it is now.', schema: programSchema },
      run: async ({ params, body }, actor) => {
        const { deactivated, ...change } = await withLogo(body);
        const state = deactivated === undefined ? {} : { deactivatedAt: deactivated ? clock.now() : null };
        return present(await programs.update(actor, params.programId, { ...given(change), ...state }));
      },
    }),
  ];
}

/** Without the fields that are not there, as opposed to null. */
export function given<B extends object>(body: B): { [K in keyof B]: Exclude<B[K], undefined> } {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) as {
    [K in keyof B]: Exclude<B[K], undefined>;
  };
}

function present(program: Program): z.input<typeof programSchema> {
  const { applicationRequirements: requirements, deactivatedAt, createdAt, updatedAt, ...rest } = program;
  return {
    ...rest,
    applicationRequirements: requirements?.map((item) => ({ ...item, value: [...item.value] })) ?? null,
    deactivatedAt: deactivatedAt === null ? null : isoTime(deactivatedAt),
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  };
}
