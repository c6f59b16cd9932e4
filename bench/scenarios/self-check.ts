// The bench measured against itself: two equal servers must come out equal, or no other ratio means much.
import { startBaseline } from '../baseline.ts';
import { compareLoads } from '../compare.ts';
import type { Scenario } from '../scenario.ts';

export const selfCheck: Scenario = {
  name: 'baseline',
  title: 'JSON echo against itself',
  async run({ seconds, rounds }) {
    const [left, right] = [await startBaseline('echo'), await startBaseline('echo')];
    try {
      const load = { requests: new URL('../requests/echo.ts', import.meta.url), seconds };
      const { ours, baseline, ratio } = await compareLoads(
        { ...load, port: left.port },
        { ...load, port: right.port },
        rounds,
      );
      return [
        {
          name: this.name,
          what: this.title,
          ours: ours.requestsPerSecond,
          baseline: baseline.requestsPerSecond,
          unit: 'req/s',
          ratio,
          p50Ms: ours.p50Ms,
          p99Ms: ours.p99Ms,
        },
      ];
    } finally {
      await Promise.all([left.close(), right.close()]);
    }
  },
};
