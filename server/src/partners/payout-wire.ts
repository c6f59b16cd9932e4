// A payout as clients and receivers of webhooks see it, and as a line of a file for the bank or PayPal.
import { z } from 'zod';
import { isoTime } from '../kernel/clock.ts';
import { csvLine } from '../kernel/csv.ts';
import { presentPayee } from './commission-wire.ts';
import { ENROLMENT_STATUSES } from './enrolment-states.ts';
import { type EnrolledPartner, PAYOUT_METHODS, type Partner } from './partner.ts';
import { effectiveMode, type Payout } from './payout.ts';
import { PAYOUT_STATUSES } from './payout-states.ts';
import type { Program } from './program.ts';

const textOrNull = z.string().nullable();
const timeOrNull = z.iso.datetime().nullable();

export const payoutSchema = z
  .object({
    id: z.string(),
    invoiceId: textOrNull.describe('Names all payouts that were confirmed together.'),
    amount: z.number().describe('In US cents.'),
    currency: z.string(),
    status: z.enum(PAYOUT_STATUSES),
    description: textOrNull.optional(),
    periodStart: timeOrNull,
    periodEnd: timeOrNull,
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime().optional(),
    initiatedAt: timeOrNull.describe('When it was confirmed.'),
    paidAt: timeOrNull,
    mode: z.enum(['internal', 'external']).nullable(),
    method: z.enum(PAYOUT_METHODS).nullable(),
    failureReason: textOrNull.optional(),
    traceId: textOrNull.optional(),
    partner: z.object({
      id: z.string(),
      name: z.string(),
      email: textOrNull,
      image: textOrNull,
      defaultPayoutMethod: z.enum(PAYOUT_METHODS).nullable(),
      payoutsEnabledAt: timeOrNull,
      country: textOrNull,
      tenantId: textOrNull,
      groupId: textOrNull.optional(),
    }),
    user: z
      .object({ id: z.string(), name: textOrNull, email: textOrNull, image: textOrNull })
      .nullable()
      .optional()
      .describe('Who confirmed it.'),
  })
  .meta({ id: 'Payout', description: 'Commissions of a partner that are paid together.' });

export type WirePayout = z.input<typeof payoutSchema>;

export interface ShownPayout {
  readonly payout: Payout;
  readonly program: Program;
  readonly partner: Partner;
  /** Absent when the partner has left the program. */
  readonly enrolled: EnrolledPartner | undefined;
  readonly user:
    | {
        readonly id: string;
        readonly name: string | null;
        readonly email: string | null;
        readonly image: string | null;
      }
    | undefined;
}

const orNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

function presentFields({ payout, program, enrolled }: Omit<ShownPayout, 'user'>) {
  const { id, invoiceId, amount, currency, status, description, mode, method } = payout;
  return {
    id,
    invoiceId,
    amount,
    currency,
    status,
    description,
    periodStart: orNull(payout.periodStart),
    periodEnd: orNull(payout.periodEnd),
    createdAt: isoTime(payout.createdAt),
    initiatedAt: orNull(payout.initiatedAt),
    paidAt: orNull(payout.paidAt),
    mode: mode ?? (enrolled ? effectiveMode(program, enrolled) : null),
    method,
  };
}

export function presentPayout(shown: ShownPayout): WirePayout {
  const { payout, partner, enrolled, user } = shown;
  return {
    ...presentFields(shown),
    updatedAt: isoTime(payout.updatedAt),
    failureReason: payout.failureReason,
    traceId: payout.traceId,
    partner: {
      ...presentPayee(partner),
      defaultPayoutMethod: partner.defaultPayoutMethod,
      tenantId: enrolled?.enrolment.tenantId ?? null,
      groupId: enrolled?.enrolment.groupId ?? null,
    },
    user: user ? { id: user.id, name: user.name, email: user.email, image: user.image } : null,
  };
}

/** What those who pay outside get. */
export const confirmedPayoutSchema = payoutSchema
  .omit({ updatedAt: true, failureReason: true, traceId: true, partner: true, user: true })
  .extend({
    partner: z.object({
      id: z.string(),
      name: z.string(),
      email: textOrNull,
      image: textOrNull,
      country: textOrNull,
      tenantId: textOrNull,
      status: z.enum(ENROLMENT_STATUSES),
    }),
  });

export function presentConfirmed(
  payout: Payout,
  program: Program,
  enrolled: EnrolledPartner,
): z.input<typeof confirmedPayoutSchema> {
  const { partner, enrolment } = enrolled;
  const { payoutsEnabledAt: _, ...payee } = presentPayee(partner);
  return {
    ...presentFields({ payout, program, partner, enrolled }),
    partner: { ...payee, tenantId: enrolment.tenantId, status: enrolment.status },
  };
}

export const EXPORT_FORMATS = ['csv', 'paypal'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Cents as banks write them. */
function dollars(cents: number): string {
  const whole = Math.abs(cents);
  return `${cents < 0 ? '-' : ''}${Math.trunc(whole / 100)}.${String(whole % 100).padStart(2, '0')}`;
}

/** PayPal takes a file without a heading: recipient, amount, currency, our id, note. */
export function exportLine(format: ExportFormat, { payout, partner, enrolled }: ShownPayout): string {
  const { id, amount, currency, invoiceId, status, periodStart, periodEnd } = payout;
  const { name, email, country } = presentPayee(partner);
  if (format === 'paypal') {
    return csvLine([
      partner.paypalEmail ?? email,
      dollars(amount),
      currency,
      id,
      `Payout ${invoiceId ?? id}`,
    ]);
  }
  const tenantId = enrolled?.enrolment.tenantId;
  const period = [orNull(periodStart), orNull(periodEnd)];
  return csvLine([
    id,
    invoiceId,
    status,
    dollars(amount),
    currency,
    partner.id,
    tenantId,
    name,
    email,
    country,
    ...period,
  ]);
}

export const EXPORT_HEADING: Readonly<Record<ExportFormat, string>> = {
  csv: csvLine([
    'payoutId',
    'invoiceId',
    'status',
    'amount',
    'currency',
    'partnerId',
    'tenantId',
    'name',
    'email',
    'country',
    'periodStart',
    'periodEnd',
  ]),
  paypal: '',
};
