// Who sent a request, over what, and to which host. X-Forwarded-For, -Proto and -Host are believed only
// from a trusted proxy; where proxies left several values, the last one counts, since the nearest proxy
// wrote it and everything before it may come from the client.
import { BlockList, isIP, isIPv4, SocketAddress } from 'node:net';
import { createBoundedMap } from '../kernel/bounded-map.ts';
import { parseHost } from './host.ts';

export interface Peer {
  /** The client's address in its canonical form; '' when the socket is already gone. */
  ip: string;
  /** Safe to read credentials from. False: plain HTTP, which the API must not answer. */
  secure: boolean;
  /** Lower-case, with its port unless that is the scheme's own; '' when missing or invalid. */
  host: string;
  /** The scheme the client used and the host, 'https://go.example.com'; '' without a host. */
  origin: string;
}

export interface PeerRequest {
  remoteAddress: string | undefined;
  /** The request came over TLS on our own socket. */
  encrypted: boolean;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

interface Cidr {
  address: string;
  family: 'ipv4' | 'ipv6';
  prefix: number;
}

const DOT = 46;
const ZERO = 48;

export const LOOPBACK_PROXIES: readonly string[] = ['127.0.0.0/8', '::1/128'];

export function createPeers(options: { trustedProxies: readonly string[] }): (request: PeerRequest) => Peer {
  const isTrusted = addressTest(options.trustedProxies.map(parseCidr));
  const hostOf = rememberedHosts();
  return ({ remoteAddress, encrypted, headers }) => {
    const address = parseAddress(remoteAddress ?? '') ?? '';
    const said = {
      for: headerText(headers['x-forwarded-for']),
      proto: headerText(headers['x-forwarded-proto']),
      host: headerText(headers['x-forwarded-host']),
    };
    const anythingSaid = said.for !== '' || said.proto !== '' || said.host !== '';
    const believed = anythingSaid && address !== '' && isTrusted(address);
    const forwardedSecure = believed && lastValue(said.proto).toLowerCase() === 'https';
    const https = encrypted || forwardedSecure;
    const host = hostOf(
      believed && said.host !== '' ? lastValue(said.host) : headerText(headers.host),
      https,
    );
    return {
      ip: believed ? clientAddress(said.for, address, isTrusted) : address,
      secure: https || (said.proto === '' && isLoopback(address)),
      host,
      origin: host && `${https ? 'https' : 'http'}://${host}`,
    };
  };
}

/** Reads addresses and CIDR blocks separated by commas or white space. */
export function parseCidrs(text: string): string[] {
  const blocks = text.split(/[\s,]+/).filter((block) => block !== '');
  for (const block of blocks) parseCidr(block);
  return blocks;
}

function parseCidr(text: string): Cidr {
  const [addressText = '', prefixText, ...rest] = text.split('/');
  const address = parseAddress(addressText);
  const bits = address && isIPv4(address) ? 32 : 128;
  const prefix = prefixText === undefined ? bits : /^\d{1,3}$/.test(prefixText) ? Number(prefixText) : -1;
  if (!address || rest.length > 0 || prefix < 0 || prefix > bits) {
    throw new Error(`"${text}" is neither an IP address nor a block such as 10.0.0.0/8 or fd00::/8`);
  }
  return { address, family: bits === 32 ? 'ipv4' : 'ipv6', prefix };
}

/** For canonical addresses only; a text comparison, since every plain request asks. */
function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.');
}

/** Says whether an address is in one of the blocks. IPv4 is plain arithmetic: every forwarded visit asks twice. */
function addressTest(cidrs: Cidr[]): (address: string) => boolean {
  const list = new BlockList();
  for (const { address, family, prefix } of cidrs) list.addSubnet(address, prefix, family);
  const blocks = cidrs
    .filter(({ family }) => family === 'ipv4')
    .map(({ address, prefix }) => {
      const size = 2 ** (32 - prefix);
      return { size, number: Math.floor(numberOf(address) / size) };
    });
  return (address) => {
    if (!isDotted(address)) return list.check(address, 'ipv6');
    const value = numberOf(address);
    return blocks.some(({ size, number }) => Math.floor(value / size) === number);
  };
}

/** For canonical addresses only. */
function isDotted(address: string): boolean {
  return !address.includes(':');
}

function numberOf(dotted: string): number {
  let value = 0;
  let part = 0;
  for (let i = 0; i < dotted.length; i++) {
    const code = dotted.charCodeAt(i);
    if (code === DOT) {
      value = value * 256 + part;
      part = 0;
    } else part = part * 10 + code - ZERO;
  }
  return value * 256 + part;
}

/**
 * The rightmost address that no trusted proxy owns; the leftmost when all are trusted. What cannot be
 * read ends the walk: whatever stands further left was not written by a proxy we know.
 */
function clientAddress(forwardedFor: string, peer: string, isTrusted: (address: string) => boolean): string {
  let nearest = peer;
  let end = forwardedFor.length;
  while (end > 0) {
    const start = forwardedFor.lastIndexOf(',', end - 1) + 1;
    const address = parseAddress(withoutPort(forwardedFor.slice(start, end).trim()));
    if (address === undefined) return nearest;
    if (!isTrusted(address)) return address;
    nearest = address;
    end = start - 1;
  }
  return nearest;
}

function withoutPort(text: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(text);
  if (bracketed) return bracketed[1] as string;
  const dotted = /^([\d.]+):\d+$/.exec(text);
  return dotted ? (dotted[1] as string) : text;
}

/** One spelling per address: IPv4-mapped IPv6 becomes IPv4, other IPv6 is shortened and loses its zone. */
function parseAddress(text: string): string | undefined {
  const family = isIP(text);
  if (family === 4) return text;
  if (family === 0) return undefined;
  const zone = text.indexOf('%');
  const address = new SocketAddress({ address: zone < 0 ? text : text.slice(0, zone), family: 'ipv6' })
    .address;
  return address.startsWith('::ffff:') && isIPv4(address.slice(7)) ? address.slice(7) : address;
}

function headerText(value: string | string[] | undefined): string {
  if (value === undefined) return '';
  return (typeof value === 'string' ? value : value.join(',')).trim();
}

function lastValue(list: string): string {
  return list.slice(list.lastIndexOf(',') + 1).trim();
}

const KEPT_HOSTS = 2_000;
const MAX_KEPT_LENGTH = 300;

/** A port sees few different hosts, each again and again. */
function rememberedHosts(): (text: string, https: boolean) => string {
  const [secure, plain] = [
    createBoundedMap<string, string>(KEPT_HOSTS),
    createBoundedMap<string, string>(KEPT_HOSTS),
  ];
  return (text, https) => {
    const known = https ? secure : plain;
    const host = known.get(text) ?? hostText(text, https);
    if (text.length <= MAX_KEPT_LENGTH) known.set(text, host);
    return host;
  };
}

function hostText(text: string, https: boolean): string {
  const host = parseHost(text);
  if (!host) return '';
  const own = host.port === undefined || host.port === (https ? 443 : 80);
  return own ? host.name : `${host.name}:${host.port}`;
}
