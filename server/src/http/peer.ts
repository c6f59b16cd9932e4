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
  headers: Readonly<Partial<Record<PeerHeader, string | string[] | undefined>>>;
}

type PeerHeader = 'host' | 'x-forwarded-for' | 'x-forwarded-proto' | 'x-forwarded-host';

interface Cidr {
  address: string;
  family: 'ipv4' | 'ipv6';
  prefix: number;
}

const DOT = 46;
const ZERO = 48;
const NINE = 57;
const NO_NUMBER = -1;

export const LOOPBACK_PROXIES: readonly string[] = ['127.0.0.0/8', '::1/128'];

export function createPeers(options: { trustedProxies: readonly string[] }): (request: PeerRequest) => Peer {
  const isTrusted = addressTest(options.trustedProxies.map(parseCidr));
  const [secureHost, plainHost] = [rememberedHosts(true), rememberedHosts(false)];
  const socketAddress = rememberedAddress();
  return ({ remoteAddress, encrypted, headers }) => {
    const address = socketAddress(remoteAddress ?? '');
    const saidFor = headerText(headers['x-forwarded-for']);
    const saidProto = headerText(headers['x-forwarded-proto']);
    const saidHost = headerText(headers['x-forwarded-host']);
    const anythingSaid = saidFor !== '' || saidProto !== '' || saidHost !== '';
    const believed = anythingSaid && address !== '' && isTrusted(address);
    const https = encrypted || (believed && lastValue(saidProto).toLowerCase() === 'https');
    const hostText = believed && saidHost !== '' ? lastValue(saidHost) : headerText(headers.host);
    const { host, origin } = https ? secureHost(hostText) : plainHost(hostText);
    return {
      ip: believed ? clientAddress(saidFor, address, isTrusted) : address,
      secure: https || (saidProto === '' && isLoopback(address)),
      host,
      origin,
    };
  };
}

/** One proxy, or one client that stays connected, asks many times in a row. */
function rememberedAddress(): (text: string) => string {
  let lastText = '';
  let lastAddress = '';
  return (text) => {
    if (text !== lastText) {
      lastText = text;
      lastAddress = parseAddress(text) ?? '';
    }
    return lastAddress;
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
    const value = numberOf(address);
    if (value === NO_NUMBER) return list.check(address, 'ipv6');
    for (const { size, number } of blocks) if (Math.floor(value / size) === number) return true;
    return false;
  };
}

/** The value of a dotted IPv4 address in its canonical form; NO_NUMBER for any other text. */
function numberOf(text: string): number {
  let value = 0;
  let part = 0;
  let digits = 0;
  let dots = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === DOT) {
      if (digits === 0) return NO_NUMBER;
      value = value * 256 + part;
      part = 0;
      digits = 0;
      dots += 1;
    } else {
      part = part * 10 + code - ZERO;
      digits += 1;
      const leadingZero = digits > 1 && part < 10;
      if (code < ZERO || code > NINE || leadingZero || part > 255) return NO_NUMBER;
    }
  }
  return dots === 3 && digits > 0 ? value * 256 + part : NO_NUMBER;
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
    const text = forwardedFor.slice(start, end).trim();
    const address = numberOf(text) === NO_NUMBER ? parseAddress(withoutPort(text)) : text;
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

type PeerHost = Pick<Peer, 'host' | 'origin'>;

/** A port sees few different hosts, each again and again. */
function rememberedHosts(https: boolean): (text: string) => PeerHost {
  const known = createBoundedMap<string, PeerHost>(KEPT_HOSTS);
  return (text) => {
    const kept = known.get(text);
    if (kept) return kept;
    const host = hostText(text, https);
    const read = { host, origin: host && `${https ? 'https' : 'http'}://${host}` };
    if (text.length <= MAX_KEPT_LENGTH) known.set(text, read);
    return read;
  };
}

function hostText(text: string, https: boolean): string {
  const host = parseHost(text);
  if (!host) return '';
  const own = host.port === undefined || host.port === (https ? 443 : 80);
  return own ? host.name : `${host.name}:${host.port}`;
}
