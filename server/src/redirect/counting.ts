// Which visits are clicks, and under which id. A visitor counts once an hour per link; robots and those who
// asked not to be tracked do not count. The click is in the journal before the answer leaves.
import type { ClickIds } from '../events/click-id.ts';
import type { Click } from '../events/event.ts';
import type { VisitLink } from '../links/visit-link.ts';
import type { Visit } from './visit.ts';
import { identityOf } from './visitor.ts';
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

/** A visit with its click id: recorded anew, or the one that the visitor has already. */
export interface Counting {
  readonly clickId: string;
  /** Undefined when the visit is no new click. */
  readonly identityHash: string | undefined;
}

const ID_COOKIE = /^[0-9A-Za-z]{1,64}$/;

export function idCookie({ domain, key }: VisitLink): string {
  return `dub_id_${domain}_${key.toLowerCase()}`;
}

export function createCounting({ record, window, clickIds, onCounted }: CountingParts) {
  function known(link: VisitLink, visit: Visit, recent: string | undefined): string {
    const cookie = visit.cookies.get(idCookie(link));
    return cookie !== undefined && ID_COOKIE.test(cookie) ? cookie : (recent ?? clickIds());
  }

  return {
    /** Decides; nothing is recorded yet, since the click carries the address that is built with its id. */
    begin(link: VisitLink, visit: Visit): Counting {
      if (visit.bot || visit.noTrack) {
        onCounted(visit.bot ? 'robot' : 'untracked');
        return { clickId: known(link, visit, undefined), identityHash: undefined };
      }
      const identityHash = identityOf(visit.ip, visit.userAgent);
      const recent = window.find(link.id, identityHash);
      if (recent === undefined) return { clickId: clickIds(), identityHash };
      onCounted('repeated');
      return { clickId: known(link, visit, recent), identityHash: undefined };
    },

    /** Resolves when the answer may leave; undefined when it may at once. */
    finish({ clickId, identityHash }: Counting, link: VisitLink, visit: Visit, url: string): Promise<void> | undefined {
      if (identityHash === undefined) return undefined;
      const qr = visit.query.get('qr') === '1';
      window.add(link.id, identityHash, clickId, visit.nowMs);
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
        trigger: qr ? 'qr' : 'link',
        qr,
        identityHash,
        countryHint: '',
      }).then((stored) => onCounted(stored ? 'recorded' : 'lost'));
    },
  };
}
