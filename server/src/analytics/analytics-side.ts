// What app.ts composes of lists, statistics, files and streams of events, in one piece.
import { join } from 'node:path';
import type { Folders } from '../folders/folders.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Ids } from '../kernel/ids.ts';
import type { Links } from '../links/links.ts';
import type { Tags } from '../tags/tags.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { createAnalytics, type GroupThings } from './analytics.ts';
import { createAnalyticsExport } from './analytics-export.ts';
import { createEventExports } from './event-export.ts';
import { createEventQuestions } from './event-questions.ts';
import { createEventStreams } from './event-stream.ts';
import { createEvents, type FindCustomers } from './events.ts';
import { createPartnerAnalytics, type PartnerAnalyticsParts } from './partner-analytics.ts';
import { createPublicStatistics } from './public-statistics.ts';
import type { EventSource } from './store.ts';

export interface AnalyticsSideParts
  extends Pick<GroupThings, 'findPartners' | 'findGroups' | 'findPartnerTags'>,
    Pick<PartnerAnalyticsParts, 'linksOfPartners'> {
  readonly partnerEarnings: PartnerAnalyticsParts['earnings'];
  readonly source: EventSource;
  readonly dataDir: string;
  readonly links: Links;
  readonly folders: Folders;
  readonly tags: Pick<Tags, 'findByIds'>;
  readonly workspaces: Pick<Workspaces, 'get'>;
  readonly findCustomers: FindCustomers;
  readonly clock: Clock;
  readonly ids: Ids;
}

export function createAnalyticsSide(parts: AnalyticsSideParts) {
  const { source, links, folders, workspaces, findCustomers, clock, ids } = parts;
  const eventQuestions = createEventQuestions({ links, folders, workspaces, clock });
  const events = createEvents({ reader: source, questions: eventQuestions, links, findCustomers });
  const things = {
    findLinks: links.findByIds,
    findFolders: folders.findByIds,
    findTags: parts.tags.findByIds,
    findPartners: parts.findPartners,
    findGroups: parts.findGroups,
    findPartnerTags: parts.findPartnerTags,
  };
  const analytics = createAnalytics({ reader: source, questions: eventQuestions, workspaces, things, clock });
  return {
    eventQuestions,
    events,
    eventExports: createEventExports({
      events,
      writeParquet: source.writeParquet,
      folder: join(parts.dataDir, 'exports'),
      ids,
    }),
    eventStreams: createEventStreams({ follower: source, questions: eventQuestions, events, clock }),
    analytics,
    exportAnalytics: createAnalyticsExport({ analytics }),
    partnerAnalytics: createPartnerAnalytics({
      analytics,
      reader: source,
      links,
      linksOfPartners: parts.linksOfPartners,
      earnings: parts.partnerEarnings,
      clock,
    }),
    publicStatistics: createPublicStatistics({ analytics, links, workspaces, clock }),
  };
}

export type AnalyticsSide = ReturnType<typeof createAnalyticsSide>;
