// Requests to our API measured against a bare JSON echo: one server of each kind for all lines of a scenario.
import { startBaseline } from './baseline.ts';
import { compareLoads } from './compare.ts';
import { type Linktrail, startLinktrail } from './linktrail.ts';
import type { Line, ScenarioContext } from './scenario.ts';

export interface Measure {
  what: string;
  /** The module in requests/ that makes the requests. */
  module: string;
  atLeast: number;
  /** How many things one request is about; the rate counts things. */
  things?: number;
  connections?: number;
  data?: object;
}

export async function measureAgainstEcho(
  name: string,
  { seconds, rounds }: ScenarioContext,
  prepare: (server: Linktrail) => Promise<Measure[]> | Measure[],
): Promise<Line[]> {
  const [server, echo] = [await startLinktrail(), await startBaseline('echo')];
  try {
    const baseline = { requests: moduleUrl('echo'), port: echo.port, seconds };
    const lines: Line[] = [];
    for (const { what, module, atLeast, things = 1, connections = 64, data } of await prepare(server)) {
      const load = {
        requests: moduleUrl(module),
        port: server.port,
        seconds,
        connections,
        expect: [200, 201],
      };
      const result = await compareLoads({ ...load, data: { key: server.key, ...data } }, baseline, rounds);
      lines.push({
        name,
        what,
        ours: result.ours.requestsPerSecond * things,
        baseline: result.baseline.requestsPerSecond,
        unit: '/s',
        ratio: result.ratio * things,
        bar: { atLeast },
        p50Ms: result.ours.p50Ms,
        p99Ms: result.ours.p99Ms,
      });
    }
    return lines;
  } finally {
    await Promise.all([server.close(), echo.close()]);
  }
}

function moduleUrl(name: string): URL {
  return new URL(`./requests/${name}.ts`, import.meta.url);
}
