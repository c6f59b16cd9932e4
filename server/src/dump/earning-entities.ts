// What partners have earned, as lines of a dump: payouts, commissions, bounties and what was watched for fraud.
import { sql } from 'kysely';
import type { Entity } from './entity.ts';
import { count, countOrNull, id, idOrNull, text, textOrNull, time, timeOrNull, times } from './field.ts';
import {
  anyJson,
  ofProgram,
  type PartnerEntityParts,
  PROGRAM_REFERENCES,
  programFields,
} from './partner-entities.ts';
import { tableEntity } from './table-entity.ts';

const PARTNER_REFERENCES = { ...PROGRAM_REFERENCES, partnerId: 'partner' } as const;

/** `type` is the type of the line. */
const kind = () => ({ ...text(50), column: 'type' });

export function earningEntities(parts: PartnerEntityParts): Entity[] {
  return [
    payoutEntity(parts),
    commissionEntity(parts),
    ...bountyEntities(parts),
    submissionEntity(parts),
    ...fraudEntities(parts),
  ];
}

function payoutEntity(parts: PartnerEntityParts): Entity {
  return tableEntity(parts, {
    name: 'payout',
    table: 'payout',
    ...ofProgram,
    fields: {
      ...programFields(),
      partnerId: id(),
      invoiceId: textOrNull(255),
      amount: count(),
      currency: text(10),
      status: text(50),
      description: textOrNull(),
      periodStart: timeOrNull(),
      periodEnd: timeOrNull(),
      mode: textOrNull(50),
      method: textOrNull(50),
      userId: idOrNull(),
      failureReason: textOrNull(),
      traceId: textOrNull(255),
      paypalTransferId: textOrNull(255),
      webhookEventId: textOrNull(255),
      initiatedAt: timeOrNull(),
      paidAt: timeOrNull(),
      ...times(),
    },
    references: PARTNER_REFERENCES,
    unique: [
      { field: 'paypalTransferId', columns: ['paypal_transfer_id'] },
      { field: 'webhookEventId', columns: ['webhook_event_id'] },
      {
        field: 'status',
        columns: ['program_id', 'partner_id', 'status'],
        where: (row) => row.status === 'pending',
      },
    ],
  });
}

function commissionEntity(parts: PartnerEntityParts): Entity {
  return tableEntity(parts, {
    name: 'commission',
    table: 'commission',
    ...ofProgram,
    fields: {
      ...programFields(),
      partnerId: id(),
      customerId: idOrNull(),
      linkId: idOrNull(),
      rewardId: idOrNull(),
      payoutId: idOrNull(),
      eventId: idOrNull(),
      invoiceId: textOrNull(255),
      sourceCommissionId: idOrNull(),
      kind: kind(),
      amount: count(),
      earnings: count(),
      currency: text(10),
      quantity: count(),
      status: text(50),
      description: textOrNull(),
      userId: idOrNull(),
      metadata: anyJson(),
      ...times(),
    },
    references: PARTNER_REFERENCES,
    unique: [
      { field: 'eventId', columns: ['event_id'] },
      { field: 'invoiceId', columns: ['program_id', 'invoice_id'] },
    ],
  });
}

function bountyEntities(parts: PartnerEntityParts): Entity[] {
  const bounty = tableEntity(parts, {
    name: 'bounty',
    table: 'bounty',
    ...ofProgram,
    fields: {
      ...programFields(),
      name: text(),
      description: textOrNull(),
      kind: kind(),
      startMode: text(50),
      startsAt: time('starts_at'),
      endsAt: timeOrNull(),
      endsAfterDays: countOrNull(),
      submissionsOpenAt: timeOrNull(),
      submissionFrequency: textOrNull(50),
      maxSubmissions: count(),
      rewardAmount: countOrNull(),
      rewardDescription: textOrNull(),
      performanceCondition: anyJson(),
      performanceScope: textOrNull(50),
      submissionRequirements: anyJson(),
      openedAt: timeOrNull(),
      archivedAt: timeOrNull(),
      ...times(),
    },
    references: PROGRAM_REFERENCES,
  });
  const members = (['Group', 'Tag'] as const).map((what) => {
    const field = `${what.toLowerCase()}Id`;
    return tableEntity(parts, {
      name: `bounty${what}`,
      table: `bounty_${what.toLowerCase()}`,
      key: ['bountyId', field],
      fields: { bountyId: id(), [field]: id(), createdAt: times().createdAt },
      ofWorkspace: (workspaceId) =>
        sql`bounty_id in (select id from bounty where ${ofProgram.ofWorkspace(workspaceId)})`,
      references: { bountyId: 'bounty' },
    });
  });
  return [bounty, ...members];
}

function submissionEntity(parts: PartnerEntityParts): Entity {
  return tableEntity(parts, {
    name: 'bountySubmission',
    table: 'bounty_submission',
    ...ofProgram,
    fields: {
      ...programFields(),
      bountyId: id(),
      partnerId: id(),
      description: textOrNull(),
      urls: anyJson(),
      files: anyJson(),
      status: text(50),
      performanceCount: count(),
      performanceBase: count(),
      socialMetricCount: count(),
      socialMetricsSyncedAt: timeOrNull(),
      commissionId: idOrNull(),
      userId: idOrNull(),
      rejectionReason: textOrNull(190),
      rejectionNote: textOrNull(),
      completedAt: timeOrNull(),
      reviewedAt: timeOrNull(),
      periodNumber: count(),
      ...times(),
    },
    references: { ...PARTNER_REFERENCES, bountyId: 'bounty' },
    unique: [
      { field: 'periodNumber', columns: ['bounty_id', 'partner_id', 'period_number'] },
      { field: 'commissionId', columns: ['commission_id'] },
    ],
  });
}

function fraudEntities(parts: PartnerEntityParts): Entity[] {
  return [
    tableEntity(parts, {
      name: 'fraudRule',
      table: 'fraud_rule',
      ...ofProgram,
      fields: { ...programFields(), kind: kind(), config: anyJson(), disabledAt: timeOrNull(), ...times() },
      references: PROGRAM_REFERENCES,
      unique: [{ field: 'kind', columns: ['program_id', 'type'] }],
    }),
    tableEntity(parts, {
      name: 'fraudGroup',
      table: 'fraud_group',
      ...ofProgram,
      fields: {
        ...programFields(),
        partnerId: id(),
        kind: kind(),
        status: text(50),
        eventCount: count(),
        lastEventAt: time('last_event_at'),
        resolvedAt: timeOrNull(),
        resolutionReason: textOrNull(),
        userId: idOrNull(),
        ...times(),
      },
      references: PARTNER_REFERENCES,
      unique: [
        {
          field: 'status',
          columns: ['program_id', 'partner_id', 'type', 'status'],
          where: (row) => row.status === 'pending',
        },
      ],
    }),
    tableEntity(parts, {
      name: 'fraudEvent',
      table: 'fraud_event',
      ...ofProgram,
      fields: {
        ...programFields(),
        fraudGroupId: id(),
        partnerId: id(),
        kind: kind(),
        customerId: idOrNull(),
        linkId: idOrNull(),
        commissionId: idOrNull(),
        eventId: idOrNull(),
        metadata: anyJson(),
        ...times(),
      },
      references: { ...PARTNER_REFERENCES, fraudGroupId: 'fraudGroup' },
    }),
  ];
}
