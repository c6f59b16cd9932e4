// Statistics of one partner: clicks, leads and sales of its links, beside what it has earned by sales. For the
// seller and for the partner alike; which of the two asks is decided before.
import type { Clock } from '../kernel/clock.ts';
import type { Link } from '../links/link.ts';
import type { Links } from '../links/links.ts';
import type { LinksOfPartners } from '../links/links-of-partners.ts';
import type { PartnerEarnings, PartnerRef } from '../partners/partner-earnings.ts';
import { type Analytics, describeLink } from './analytics.ts';
import type { AnalyticsRow, Numbers } from './analytics-rows.ts';
import type { TimeParams } from './event-params.ts';
import { type Question, readTime } from './event-questions.ts';
import { parseMetadataQuery } from './metadata-query.ts';
import type { EventKind, EventReader, EventRecords } from './query.ts';

export const PARTNER_GROUPINGS = ['count', 'timeseries', 'top_links'] as const;
export type PartnerGrouping = (typeof PARTNER_GROUPINGS)[number];

export interface PartnerQuestion extends TimeParams {
  readonly query?: string | undefined;
}

/** Whose numbers they are. */
export interface AskedPartner extends PartnerRef {
  readonly workspaceId: string;
}

export interface PartnerAnalyticsParts {
  readonly analytics: Pick<Analytics, 'answer' | 'series'>;
  readonly reader: Pick<EventReader, 'list'>;
  readonly links: Pick<Links, 'findByIds'>;
  readonly linksOfPartners: Pick<LinksOfPartners, 'list'>;
  readonly earnings: PartnerEarnings;
  readonly clock: Clock;
}

type WithEarnings<T> = T & { readonly earnings: number };

/** Links without any event are shown up to here; those with events always. */
const LINKS_SHOWN = 1_000;

export function createPartnerAnalytics(parts: PartnerAnalyticsParts) {
  const { analytics, reader, links, linksOfPartners, earnings, clock } = parts;

  function questionOf(partner: AskedPartner, params: PartnerQuestion): Question {
    const { workspaceId, programId, partnerId } = partner;
    const { zone, interval, window } = readTime(params, clock.now());
    const only = (value: string) => ({ not: false, values: [value] });
    const query = {
      workspaceId,
      ...window,
      programId: only(programId),
      partnerId: only(partnerId),
    };
    const metadata = params.query === undefined ? undefined : parseMetadataQuery(params.query);
    return { query: { ...query, ...(metadata && { metadata }) }, zone, interval };
  }

  async function count(
    partner: AskedPartner,
    question: Question,
    signal?: AbortSignal,
  ): Promise<WithEarnings<Numbers>> {
    const asked = { event: 'composite', groupBy: 'count' } as const;
    const numbers = (await analytics.answer(question, asked, signal)) as Numbers;
    return { ...numbers, earnings: await earnings.sum(partner, 'sales', question.query) };
  }

  async function timeseries(
    partner: AskedPartner,
    question: Question,
    signal?: AbortSignal,
  ): Promise<WithEarnings<AnalyticsRow>[]> {
    const rows = await analytics.series(question, 'composite', signal);
    const sums = await earnings.sumByTime(partner, 'sales', rows);
    return rows.map(({ row }, i) => ({ ...row, earnings: sums[i] as number }));
  }

  /** Links with the most clicks first, then those without any, the oldest first. */
  async function topLinks(
    partner: AskedPartner,
    question: Question,
    signal?: AbortSignal,
  ): Promise<WithEarnings<AnalyticsRow>[]> {
    const asked = { event: 'composite', groupBy: 'top_links' } as const;
    const rows = (await analytics.answer(question, asked, signal)) as AnalyticsRow[];
    const sums = await earnings.sumByLink(partner, 'sales', question.query);
    const known = new Set(rows.map(({ id }) => id));
    const all = await linksOfPartners.list(partner, { page: 1, pageSize: LINKS_SHOWN });
    const quiet = all
      .filter(({ id }) => !known.has(id))
      .map((link) => ({ ...describeLink(link), ...NOTHING }));
    return [...rows, ...quiet].map((row) => ({ ...row, earnings: sums.get(row.id as string) ?? 0 }));
  }

  return {
    async retrieve(
      partner: AskedPartner,
      params: PartnerQuestion & { readonly groupBy: PartnerGrouping },
      signal?: AbortSignal,
    ): Promise<WithEarnings<Numbers> | WithEarnings<AnalyticsRow>[]> {
      const question = questionOf(partner, params);
      if (params.groupBy === 'count') return count(partner, question, signal);
      return params.groupBy === 'timeseries'
        ? timeseries(partner, question, signal)
        : topLinks(partner, question, signal);
    },

    /** Whatever was earned, by whatever it was earned. */
    async earningsOverTime(
      partner: AskedPartner,
      params: PartnerQuestion,
      signal?: AbortSignal,
    ): Promise<{ start: string; earnings: number }[]> {
      const rows = await analytics.series(questionOf(partner, params), 'clicks', signal);
      const sums = await earnings.sumByTime(partner, 'all', rows);
      return rows.map(({ row: { start } }, i) => ({ start, earnings: sums[i] as number }));
    },

    /** The newest first, each with its link; events of links that are gone are left out. */
    async listEvents<K extends EventKind>(
      partner: AskedPartner,
      params: PartnerQuestion & { readonly event: K; readonly page: number; readonly pageSize: number },
      signal?: AbortSignal,
    ): Promise<{ record: EventRecords[K]; link: Link }[]> {
      const { event: kind, page, pageSize: limit } = params;
      const { query } = questionOf(partner, params);
      const asked = { ...query, kind, order: 'desc', limit, offset: (page - 1) * limit } as const;
      const records = await reader.list<K>(asked, signal);
      const linkIds = records.map(({ linkId }) => linkId);
      const found = await links.findByIds(partner.workspaceId, linkIds);
      return records.flatMap((record) => {
        const link = found.get(record.linkId);
        return link ? [{ record, link }] : [];
      });
    },
  };
}

export type PartnerAnalytics = ReturnType<typeof createPartnerAnalytics>;

const NOTHING = { clicks: 0, leads: 0, sales: 0, saleAmount: 0 };
