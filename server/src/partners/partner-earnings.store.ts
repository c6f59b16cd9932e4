// SQL for what one partner has earned: by time, by link, and one by one. Sums are read from an index of the partner.
import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import { listPage, type PageRequest } from '../db/page.ts';
import { toFields } from '../db/row.ts';
import { EARNED_STATUSES, HIDDEN_STATUSES } from './commission-states.ts';
import type { Earning, EarningKind, EarningWindow, PartnerRef } from './partner-earnings.ts';

const COLUMNS = [
  'id',
  'type',
  'amount',
  'earnings',
  'currency',
  'quantity',
  'status',
  'description',
  'link_id',
  'created_at',
] as const;
const SPEC = { columns: { createdAt: 'created_at' }, createdAt: 'created_at', id: 'id' } as const;
/** Few enough that a statement stays far below the engines' limits on parameters. */
const BUCKETS_PER_QUERY = 500;

export function createPartnerEarningStore(db: Database) {
  const earned = ({ programId, partnerId }: PartnerRef, kind: EarningKind) => {
    const query = db.query
      .selectFrom('commission')
      .where('program_id', '=', programId)
      .where('partner_id', '=', partnerId)
      .where('status', 'in', EARNED_STATUSES);
    return kind === 'all' ? query : query.where('type', '=', 'sale').where('amount', '>', 0);
  };
  const within = (partner: PartnerRef, kind: EarningKind, { fromMs, toMs }: EarningWindow) =>
    earned(partner, kind).where('created_at', '>=', fromMs).where('created_at', '<=', toMs);

  /** In the order of the windows. */
  async function sumEach(
    partner: PartnerRef,
    kind: EarningKind,
    windows: readonly EarningWindow[],
  ): Promise<number[]> {
    if (windows.length === 0) return [];
    const sum = earned(partner, kind)
      .select(sql`coalesce(sum(earnings), 0)`.as('sum'))
      .where(sql<boolean>`created_at between stretch.column1 and stretch.column2`);
    const values = windows.map(
      ({ fromMs, toMs }) => sql`(cast(${fromMs} as bigint), cast(${toMs} as bigint))`,
    );
    const { rows } = await sql<{ sum: number | string }>`
      select (${sum}) as sum from (values ${sql.join(values)}) as stretch order by stretch.column1
    `.execute(db.query);
    return rows.map((row) => Number(row.sum));
  }

  return {
    async sum(partner: PartnerRef, kind: EarningKind, window: EarningWindow): Promise<number> {
      return (await sumEach(partner, kind, [window]))[0] as number;
    },

    /** For stretches of time that follow each other. */
    async sumByTime(
      partner: PartnerRef,
      kind: EarningKind,
      windows: readonly EarningWindow[],
    ): Promise<number[]> {
      const sums: number[] = [];
      for (let start = 0; start < windows.length; start += BUCKETS_PER_QUERY) {
        sums.push(...(await sumEach(partner, kind, windows.slice(start, start + BUCKETS_PER_QUERY))));
      }
      return sums;
    },

    async sumByLink(
      partner: PartnerRef,
      kind: EarningKind,
      window: EarningWindow,
    ): Promise<Map<string, number>> {
      const rows = await within(partner, kind, window)
        .select('link_id')
        .select((eb) => eb.fn.sum<number>('earnings').as('sum'))
        .where('link_id', 'is not', null)
        .groupBy('link_id')
        .execute();
      return new Map(rows.map((row) => [row.link_id as string, Number(row.sum)]));
    },

    /** As partners see them: what does not count is left out. */
    async list(
      { programId, partnerId }: PartnerRef,
      page: Pick<PageRequest<'createdAt'>, 'page' | 'pageSize'>,
    ): Promise<Earning[]> {
      const query = db.query
        .selectFrom('commission')
        .select(COLUMNS)
        .where('program_id', '=', programId)
        .where('partner_id', '=', partnerId)
        .where('status', 'not in', HIDDEN_STATUSES)
        .where('earnings', '!=', 0);
      const newest = { ...page, sortBy: 'createdAt', sortOrder: 'desc' } as const;
      return (await listPage(query, SPEC, newest)).map((row) => toFields(row));
    },
  };
}

export type PartnerEarningStore = ReturnType<typeof createPartnerEarningStore>;
