// Clicks that a page or an app reports instead of a visit. The rule, the visitor window and the journal are
// those of visits: whoever visited the link within the hour is not counted again, and the other way round.
import type { Trigger } from '../events/event.ts';
import type { Clock } from '../kernel/clock.ts';
import type { VisitLink } from '../links/visit-link.ts';
import { type CountedVisit, type CountingParts, createCounting } from './counting.ts';
import { isRobot, TELLING_HEADERS } from './visitor.ts';

/** Who reports, as its request says. */
export interface Reporter {
  readonly ip: string;
  readonly header: (name: string) => string | undefined;
  /** Asked not to be tracked otherwise than by the header. */
  readonly noTrack: boolean;
}

export interface ReportedClick {
  readonly url: string;
  readonly referer: string;
  readonly trigger: Trigger;
}

export interface ClientClicks {
  /** The id of the click that was recorded for this visitor of the link within the last hour; counted as a repeat. */
  findRepeat(link: VisitLink, reporter: Reporter): string | undefined;
  /** Resolves when the click is written. `recorded`: a click with this id is in the journal, this one or an earlier one. */
  record(
    link: VisitLink,
    reporter: Reporter,
    click: ReportedClick,
  ): Promise<{ clickId: string; recorded: boolean }>;
}

const NO_QUERY = new URLSearchParams();

export function createClientClicks(parts: CountingParts & { clock: Clock }): ClientClicks {
  const { window, clock, onCounted } = parts;
  const counting = createCounting(parts);

  return {
    findRepeat(link, { ip, header }) {
      const earlier = window.find({ linkId: link.id, ip, userAgent: header('user-agent') ?? '' });
      if (earlier !== undefined) onCounted('repeated');
      return earlier;
    },
    async record(link, reporter, { url, referer, trigger }) {
      const visit = visitOf(reporter, referer, trigger, clock.now());
      const counted = counting.begin(link, visit);
      const { clickId } = counted;
      const written = counting.finish(counted, link, visit, url, trigger);
      // Without a click to write, the visitor either does not count or was counted a moment ago.
      if (!written) return { clickId, recorded: !visit.bot && !visit.noTrack };
      const recorded = await written;
      onCounted(recorded ? 'recorded' : 'lost');
      return { clickId, recorded };
    },
  };
}

function visitOf(
  { ip, header, noTrack }: Reporter,
  referer: string,
  trigger: Trigger,
  nowMs: number,
): CountedVisit {
  const headers = Object.fromEntries(TELLING_HEADERS.map((name) => [name, header(name)]));
  return {
    nowMs,
    query: NO_QUERY,
    // An app names itself as it likes; that it opened a deep link tells enough.
    bot: trigger !== 'deeplink' && isRobot('POST', headers, NO_QUERY),
    noTrack: noTrack || headers['dub-no-track'] !== undefined,
    userAgent: headers['user-agent'] ?? '',
    referer,
    ip,
    // Cookies of short links are not sent to the API.
    cookie: () => undefined,
  };
}
