// Links over the whole API: created one a request, created a hundred a request (counted in links), looked up.
import { startBaseline } from '../baseline.ts';
import { compareLoads } from '../compare.ts';
import { type Linktrail, startLinktrail } from '../linktrail.ts';
import type { Line, Scenario } from '../scenario.ts';

const BULK = 100;

interface Measure {
  what: string;
  module: string;
  atLeast: number;
  /** How many links one request is about. */
  links?: number;
  connections?: number;
  data?: object;
}

export const links: Scenario = {
  name: 'links',
  title: 'POST /links, POST /links/bulk and GET /links/info against a bare JSON echo',
  async run({ seconds, rounds }) {
    const [server, echo] = [await startLinktrail(), await startBaseline('echo')];
    try {
      const baseline = {
        requests: new URL('../requests/echo.ts', import.meta.url),
        port: echo.port,
        seconds,
      };
      const measure = async ({
        what,
        module,
        atLeast,
        links = 1,
        connections = 64,
        data,
      }: Measure): Promise<Line> => {
        const requests = new URL(`../requests/${module}.ts`, import.meta.url);
        const ours = {
          requests,
          data: { key: server.key, ...data },
          port: server.port,
          seconds,
          connections,
        };
        const result = await compareLoads(ours, baseline, rounds);
        return {
          name: this.name,
          what,
          ours: result.ours.requestsPerSecond * links,
          baseline: result.baseline.requestsPerSecond,
          unit: '/s',
          ratio: result.ratio * links,
          bar: { atLeast },
          p50Ms: result.ours.p50Ms,
          p99Ms: result.ours.p99Ms,
        };
      };
      const known = await createSome(server);
      return [
        await measure({ what: 'create a link', module: 'create-link', atLeast: 0.1 }),
        await measure({
          what: `create ${BULK} links, in links`,
          module: 'create-links',
          atLeast: 0.4,
          links: BULK,
          connections: 8,
        }),
        await measure({ what: 'look up a link', module: 'link-info', atLeast: 0.2, data: { links: known } }),
      ];
    } finally {
      await Promise.all([server.close(), echo.close()]);
    }
  },
};

async function createSome({ port, key }: Linktrail): Promise<{ domain: string; key: string }[]> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/links/bulk`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(Array.from({ length: BULK }, (_, i) => ({ url: `https://shop.example/${i}` }))),
  });
  if (answer.status !== 200) throw new Error(`no links to look up: ${await answer.text()}`);
  return ((await answer.json()) as { domain: string; key: string }[]).map((link) => ({
    domain: link.domain,
    key: link.key,
  }));
}
