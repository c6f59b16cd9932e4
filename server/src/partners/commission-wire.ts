// A commission as clients and receivers of webhooks see it.
import { z } from 'zod';
import { customerSchema, present as presentCustomer } from '../customers/customer.api.ts';
import type { Customer } from '../customers/customer.ts';
import { isoTime } from '../kernel/clock.ts';
import { COMMISSION_TYPES, type Commission } from './commission.ts';
import { COMMISSION_STATUSES } from './commission-states.ts';
import { displayName, type EnrolledPartner, type Partner } from './partner.ts';

const textOrNull = z.string().nullable();
const timeOrNull = z.iso.datetime().nullable();

export const commissionSchema = z
  .object({
    id: z.string(),
    type: z.enum(COMMISSION_TYPES),
    amount: z.number().describe('What was sold, in US cents; 0 for everything but sales.'),
    earnings: z.number().describe('What the partner earns, in US cents; negative for a clawback.'),
    currency: z.string(),
    status: z.enum(COMMISSION_STATUSES),
    invoiceId: textOrNull,
    description: textOrNull,
    quantity: z.number(),
    userId: textOrNull.describe('Who entered it, if it was entered by hand.'),
    metadata: z.record(z.string(), z.unknown()).nullable().describe('That of the lead or the sale.'),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
    paidAt: timeOrNull.describe('When its payout was sent.'),
    partner: z.object({
      id: z.string(),
      name: z.string(),
      email: textOrNull,
      image: textOrNull,
      payoutsEnabledAt: timeOrNull,
      country: textOrNull,
      groupId: textOrNull.optional(),
    }),
    customer: customerSchema
      .omit({ link: true, programId: true, partner: true, discount: true })
      .nullable()
      .optional(),
  })
  .meta({ id: 'Commission', description: 'What a partner has earned.' });

export type WireCommission = z.input<typeof commissionSchema>;

/** A commission with what is shown beside it. */
export interface ShownCommission {
  readonly commission: Commission;
  /** The person; the enrolment only while there is one. */
  readonly partner: Partner;
  readonly groupId: string | null;
  readonly customer: Customer | undefined;
  readonly paidAt: number | null;
}

const orNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

/** What it is by itself. */
export function presentCommissionFields(commission: Commission) {
  const { id, type, amount, earnings, currency, status, invoiceId, description } = commission;
  return {
    id,
    type,
    amount,
    earnings,
    currency,
    status,
    invoiceId,
    description,
    quantity: commission.quantity,
    userId: commission.userId,
    metadata: commission.metadata as Record<string, unknown> | null,
    createdAt: isoTime(commission.createdAt),
    updatedAt: isoTime(commission.updatedAt),
  };
}

export function presentPayee(partner: Partner) {
  const { id, email, image, payoutsEnabledAt, country } = partner;
  return {
    id,
    name: displayName(partner),
    email,
    image,
    payoutsEnabledAt: orNull(payoutsEnabledAt),
    country,
  };
}

export function presentCommission(shown: ShownCommission): WireCommission {
  const { commission, partner, groupId, customer, paidAt } = shown;
  return {
    ...presentCommissionFields(commission),
    paidAt: orNull(paidAt),
    partner: { ...presentPayee(partner), groupId },
    customer: customer ? presentCustomer(customer) : null,
  };
}

/** By partner, with or without a place in the program by now. */
export function groupOf(enrolled: EnrolledPartner | undefined): string | null {
  return enrolled?.enrolment.groupId ?? null;
}
