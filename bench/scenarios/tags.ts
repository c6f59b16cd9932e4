// The whole pipeline of the API on its smallest feature: one tag created per request, and one tag read.
import { measureAgainstEcho } from '../against-echo.ts';
import type { Scenario } from '../scenario.ts';

export const tags: Scenario = {
  name: 'tags',
  title: 'POST and GET /tags against a bare JSON echo',
  run(context) {
    return measureAgainstEcho(this.name, context, () => [
      { what: 'create a tag', module: 'create-tag', atLeast: 0.1 },
      { what: 'list tags', module: 'list-tags', atLeast: 0.2 },
    ]);
  },
};
