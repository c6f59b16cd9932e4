// How lists of commissions are asked about time and metadata: in the words that questions about events use.
import type { Clock } from '../kernel/clock.ts';
import { invalid } from '../kernel/errors.ts';
import type { CommissionQuestions } from '../partners/commission.api.ts';
import { parseMetadataQuery } from './metadata-query.ts';
import { readWindow } from './time-window.ts';
import { findTimeZone } from './time-zone.ts';

export function createCommissionQuestions(clock: Clock): CommissionQuestions {
  return {
    readPeriod({ timezone, ...question }) {
      const zone = findTimeZone(timezone);
      if (!zone) throw invalid('timezone', 'must be the IANA name of a time zone');
      return readWindow(question, zone, clock.now());
    },
    readMetadata: parseMetadataQuery,
  };
}
