// What a user agent says of the visitor's device. Parsing takes some 30 microseconds, so results are kept:
// there are far fewer user agents than visitors.
import { UAParser } from 'ua-parser-js';
import { UNKNOWN } from '../analytics/click-record.ts';
import { createBoundedMap } from '../kernel/bounded-map.ts';

export interface Agent {
  readonly device: string;
  readonly browser: string;
  readonly browserVersion: string;
  readonly os: string;
  readonly osVersion: string;
}

const KEPT_AGENTS = 20_000;
/** Longer ones are no browser's, and would make parsing slow. */
const LONGEST = 1_000;

export function createReadAgent(): (userAgent: string) => Agent {
  const kept = createBoundedMap<string, Agent>(KEPT_AGENTS);
  return (userAgent) => {
    const text = userAgent.length > LONGEST ? userAgent.slice(0, LONGEST) : userAgent;
    const known = kept.get(text);
    if (known) return known;
    const agent = parse(text);
    kept.set(text, agent);
    return agent;
  };
}

function parse(userAgent: string): Agent {
  const { device, browser, os } = new UAParser(userAgent).getResult();
  return {
    device: device.type ? `${device.type.charAt(0).toUpperCase()}${device.type.slice(1)}` : 'Desktop',
    browser: browser.name ?? UNKNOWN,
    browserVersion: browser.version ?? UNKNOWN,
    os: os.name ?? UNKNOWN,
    osVersion: os.version ?? UNKNOWN,
  };
}
