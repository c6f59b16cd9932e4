// What the Host of a request means: the service itself, a host reserved for the API or the dashboard, or
// a short-link domain. Hosts are compared by name; case, a trailing dot and default ports do not count.
import { isIP, isIPv6 } from 'node:net';
import { createBoundedMap } from '../kernel/bounded-map.ts';

export interface HostParts {
  /** Lower-case, without port and trailing dot; IPv6 addresses keep their brackets. */
  name: string;
  port: number | undefined;
}

/**
 * - `service`: the service's own host: the default domain's links, and the system paths
 * - `api`, `app`: as `service`, with the API or the dashboard also at the root
 * - `domain`: a short-link domain, where system paths do not exist
 */
export type HostKind = 'service' | 'api' | 'app' | 'domain';

export interface Hosts {
  classify(host: string): HostKind;
}

export interface HostsOptions {
  defaultDomain: string;
  publicUrl?: string | undefined;
  apiHost?: string | undefined;
  appHost?: string | undefined;
}

const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)\.?(?::(\d{1,5}))?$/;
const MAX_HOST_LENGTH = 260; // a name of 253, a trailing dot, a colon and a port
/** Every request asks for its host, and most ask for the same few. */
const KEPT_HOSTS = 2_000;
const DEFAULT_PORTS = new Set([80, 443]);

/** Reads a Host header or a configured host; undefined when it cannot name a host. */
export function parseHost(text: string): HostParts | undefined {
  if (text.length > MAX_HOST_LENGTH) return undefined;
  const match = HOST.exec(text.toLowerCase());
  if (!match) return undefined;
  const name = match[1] as string;
  if (name.startsWith('[') && !isIPv6(name.slice(1, -1))) return undefined;
  if (name.includes('..')) return undefined;
  const port = match[2] === undefined ? undefined : Number(match[2]);
  if (port !== undefined && (port < 1 || port > 65535)) return undefined;
  return { name, port };
}

/**
 * A configured host without a port (or with a default one) means that name on every port, so that the
 * service answers to its name wherever it listens; with another port it means that port only.
 */
export function createHosts(options: HostsOptions): Hosts {
  const kinds = new Map<string, HostKind>();
  const reserve = (kind: HostKind, text: string | undefined, setting: string) => {
    if (text === undefined || text === '') return;
    const host = parseHost(text);
    if (!host) throw new Error(`${setting} must be a host name such as links.example.com, not "${text}"`);
    kinds.set(comparable(host), kind);
  };
  reserve('service', options.defaultDomain, 'The default domain');
  reserve('service', options.publicUrl && hostOfUrl(options.publicUrl), "The public URL's host");
  reserve('app', options.appHost, 'The dashboard host');
  reserve('api', options.apiHost, 'The API host');

  function kindOf(text: string): HostKind {
    const host = parseHost(text);
    if (!host) return 'domain';
    const kind = kinds.get(comparable(host)) ?? kinds.get(host.name);
    return kind ?? (isLocal(host.name) ? 'service' : 'domain');
  }

  const known = createBoundedMap<string, HostKind>(KEPT_HOSTS);
  return {
    classify(text) {
      // No usable Host names no short-link domain: probes that send none reach the service itself.
      if (text === '') return 'service';
      const kept = known.get(text);
      if (kept) return kept;
      const kind = kindOf(text);
      if (text.length <= MAX_HOST_LENGTH) known.set(text, kind);
      return kind;
    },
  };
}

function comparable({ name, port }: HostParts): string {
  return port === undefined || DEFAULT_PORTS.has(port) ? name : `${name}:${port}`;
}

function isLocal(name: string): boolean {
  return name === 'localhost' || name.startsWith('[') || isIP(name) !== 0;
}

function hostOfUrl(url: string): string {
  if (!URL.canParse(url))
    throw new Error(`The public URL must be such as https://links.example.com, not "${url}"`);
  return new URL(url).host;
}
