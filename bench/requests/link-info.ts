// Links to look up by domain and key, one after another.
import { httpText } from '../http-text.ts';

export interface KnownLink {
  domain: string;
  key: string;
}

export function createRequests({ key, links }: { key: string; links: KnownLink[] }): (i: number) => string {
  const headers = { authorization: `Bearer ${key}` };
  const texts = links.map((link) =>
    httpText({ method: 'GET', path: `/api/links/info?${new URLSearchParams({ ...link })}`, headers }),
  );
  return (i) => texts[i % texts.length] as string;
}
