// The whole pipeline of the API on its smallest feature: one tag created per request, and one tag read.
import { startBaseline } from '../baseline.ts';
import { compareLoads } from '../compare.ts';
import { startLinktrail } from '../linktrail.ts';
import type { Line, Scenario } from '../scenario.ts';

export const tags: Scenario = {
  name: 'tags',
  title: 'POST and GET /tags against a bare JSON echo',
  async run({ seconds, rounds }) {
    const [server, echo] = [await startLinktrail(), await startBaseline('echo')];
    try {
      const baseline = {
        requests: new URL('../requests/echo.ts', import.meta.url),
        port: echo.port,
        seconds,
      };
      const measure = async (what: string, module: string, atLeast: number): Promise<Line> => {
        const requests = new URL(`../requests/${module}.ts`, import.meta.url);
        const ours = { requests, data: { key: server.key }, expect: [200, 201], port: server.port, seconds };
        const result = await compareLoads(ours, baseline, rounds);
        return {
          name: this.name,
          what,
          ours: result.ours.requestsPerSecond,
          baseline: result.baseline.requestsPerSecond,
          unit: 'req/s',
          ratio: result.ratio,
          bar: { atLeast },
          p50Ms: result.ours.p50Ms,
          p99Ms: result.ours.p99Ms,
        };
      };
      return [await measure('create a tag', 'create-tag', 0.1), await measure('list tags', 'list-tags', 0.2)];
    } finally {
      await Promise.all([server.close(), echo.close()]);
    }
  },
};
