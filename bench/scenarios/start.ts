// How long a start on existing data takes, and how much memory an idle server holds. Reported, without a bar.
import { median } from '../compare.ts';
import { startLinktrail } from '../linktrail.ts';
import type { Scenario } from '../scenario.ts';

const SETTLE_MS = 2_000;

export const start: Scenario = {
  name: 'start',
  title: 'start to ready on existing data, resident memory idle',
  async run({ rounds }) {
    const first = await startLinktrail();
    await first.stop();
    const starts: number[] = [];
    let idleBytes = 0;
    for (let round = 0; round < rounds; round++) {
      const server = await startLinktrail({ dataDir: first.dataDir });
      starts.push(server.startMs);
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
      idleBytes = await server.residentBytes();
      await (round === rounds - 1 ? server.close() : server.stop());
    }
    return [
      { name: this.name, what: 'start to ready', ours: median(starts), unit: 'ms' },
      { name: this.name, what: 'resident memory, idle', ours: idleBytes / 1024 / 1024, unit: 'MB' },
    ];
  },
};
