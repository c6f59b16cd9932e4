// Which visits are clicks, and under which id. A visitor counts once an hour per link; robots and those who
// asked not to be tracked do not count. The click is in the journal before the answer leaves.
import type { ClickIds } from '../events/click-id.ts';
import type { Click, Trigger } from '../events/event.ts';
import type { VisitLink } from '../links/visit-link.ts';
import type { Visit } from './visit.ts';
import type { VisitorWindow } from './window.ts';

/** What became of a visit that reached its destination. */
export const COUNTED = ['recorded', 'repeated', 'robot', 'untracked', 'lost'] as const;
export type Counted = (typeof COUNTED)[number];

export interface CountingParts {
  /** Resolves when the click is written: false when it is lost. Never rejects. */
  readonly record: (click: Click) => Promise<boolean>;
  readonly window: VisitorWindow;
  readonly clickIds: ClickIds;
  readonly onCounted: (outcome: Counted) => void;
}

/** What counting asks of a visit, or of a click that a page or an app reports. */
export type CountedVisit = Pick<
  Visit,
  'nowMs' | 'query' | 'bot' | 'noTrack' | 'userAgent' | 'referer' | 'ip' | 'cookie'
>;

/** A visit with its click id: a new one, or the one that the visitor has already. */
export interface Counting {
  readonly clickId: string;
  /** The visit is a click to record. */
  readonly isClick: boolean;
}

const ID_COOKIE = /^[0-9A-Za-z]{1,64}$/;

export function idCookie({ domain, key }: VisitLink): string {
  return `dub_id_${domain}_${key.toLowerCase()}`;
}

export function createCounting({ record, window, clickIds, onCounted }: CountingParts) {
  function known(link: VisitLink, visit: CountedVisit, recent: string | undefined): string {
    const cookie = visit.cookie(idCookie(link));
    return cookie !== undefined && ID_COOKIE.test(cookie) ? cookie : (recent ?? clickIds());
  }

  return {
    /** Decides; nothing is recorded yet, since the click carries the address that is built with its id. */
    begin(link: VisitLink, visit: CountedVisit): Counting {
      const { ip, userAgent } = visit;
      const visitor = { linkId: link.id, ip, userAgent };
      if (visit.bot || visit.noTrack) {
        onCounted(visit.bot ? 'robot' : 'untracked');
        return { clickId: known(link, visit, window.find(visitor)), isClick: false };
      }
      const clickId = clickIds();
      const earlier = window.enter(visitor, clickId);
      if (earlier === undefined) return { clickId, isClick: true };
      onCounted('repeated');
      return { clickId: known(link, visit, earlier), isClick: false };
    },

    /** Resolves when the answer may leave, with whether the click is stored; undefined when it may at once. */
    finish(
      { clickId, isClick }: Counting,
      link: VisitLink,
      visit: CountedVisit,
      url: string,
      trigger?: Trigger,
    ): Promise<boolean> | undefined {
      if (!isClick) return undefined;
      const qr = visit.query.get('qr') === '1';
      return record({
        id: clickId,
        timeMs: visit.nowMs,
        workspaceId: link.workspaceId,
        linkId: link.id,
        domain: link.domain,
        key: link.key,
        url,
        ip: visit.ip,
        userAgent: visit.userAgent,
        referer: visit.referer,
        trigger: trigger ?? (qr ? 'qr' : 'link'),
        qr,
        ipPrivacy: link.ipPrivacy,
        countryHint: '',
      });
    },
  };
}
