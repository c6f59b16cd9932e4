// One request to a short link, taken apart once.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createBoundedMap } from '../kernel/bounded-map.ts';
import { type Resolved, resolvePath, type ServedHosts, slugServedBy } from './resolve.ts';
import type { VisitorHeaders } from './visitor.ts';

/** Who asks, as the HTTP side found out. */
export interface Caller {
  readonly ip: string;
  readonly host: string;
  readonly origin: string;
}

export interface Ask {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
  readonly headers: VisitorHeaders;
  readonly path: string;
  /** With its question mark; empty without a query. */
  readonly search: string;
  readonly slug: string;
  readonly resolved: Resolved;
}

export type ReadAsk = (
  request: IncomingMessage,
  response: ServerResponse,
  caller: Caller,
  headers: VisitorHeaders,
) => Ask;

const KEPT_HOSTS = 10_000;

export function createReadAsk(served: ServedHosts): ReadAsk {
  const slugOf = rememberedSlugs(served);
  return (request, response, caller, headers) => {
    const target = request.url ?? '/';
    const mark = target.indexOf('?');
    const path = mark === -1 ? target : target.slice(0, mark);
    const search = mark === -1 ? '' : target.slice(mark);
    return {
      request,
      response,
      caller,
      headers,
      path,
      search,
      slug: slugOf(caller.host),
      resolved: resolvePath(path),
    };
  };
}

function rememberedSlugs(served: ServedHosts): (host: string) => string {
  const slugs = createBoundedMap<string, string>(KEPT_HOSTS);
  return (host) => {
    const known = slugs.get(host);
    if (known !== undefined) return known;
    const slug = slugServedBy(host, served);
    slugs.set(host, slug);
    return slug;
  };
}
