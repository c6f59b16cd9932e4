// Links over the whole API: created one a request, created a hundred a request (counted in links), looked up.
import { measureAgainstEcho } from '../against-echo.ts';
import type { Linktrail } from '../linktrail.ts';
import type { Scenario } from '../scenario.ts';

const BULK = 100;

export const links: Scenario = {
  name: 'links',
  title: 'POST /links, POST /links/bulk and GET /links/info against a bare JSON echo',
  run(context) {
    return measureAgainstEcho(this.name, context, async (server) => [
      { what: 'create a link', module: 'create-link', atLeast: 0.1 },
      {
        what: `create ${BULK} links, in links`,
        module: 'create-links',
        atLeast: 0.4,
        things: BULK,
        connections: 8,
      },
      {
        what: 'look up a link',
        module: 'link-info',
        atLeast: 0.2,
        data: { links: await createSome(server) },
      },
    ]);
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
