// Payment providers and the names that they give to payments, as lines of a dump. The signing secret goes along:
// without it what the provider sends could not be checked any more. A key that opens the provider's account does not.
import type { Database } from '../db/database.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Entity } from './entity.ts';
import { countOrNull, id, oneOf, text, times } from './field.ts';
import { tableEntity } from './table-entity.ts';

export function paymentEntities(parts: { db: Database; clock: Clock }): Entity[] {
  return [
    tableEntity(parts, {
      name: 'payment_bridge',
      table: 'payment_bridge',
      key: ['workspaceId', 'provider'],
      fields: { workspaceId: id(), provider: oneOf(['stripe']), secret: text(255), ...times() },
      references: { workspaceId: 'workspace' },
    }),
    tableEntity(parts, {
      name: 'payment_reference',
      table: 'payment_reference',
      key: ['workspaceId', 'reference'],
      fields: { workspaceId: id(), reference: id(), invoiceId: id(), createdAt: times().createdAt },
      references: { workspaceId: 'workspace' },
    }),
    tableEntity(parts, {
      name: 'early_refund',
      table: 'early_refund',
      key: ['workspaceId', 'reference', 'refundId'],
      fields: {
        workspaceId: id(),
        reference: id(),
        refundId: id(),
        amount: countOrNull(),
        createdAt: times().createdAt,
      },
      references: { workspaceId: 'workspace' },
    }),
  ];
}
