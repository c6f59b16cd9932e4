// The configuration: environment variables in, one frozen value out. The only reader of process.env, and
// the source of .env.example and docs/configuration.md.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { parseHost } from './http/host.ts';
import { LOOPBACK_PROXIES, parseCidrs } from './http/peer.ts';
import { isGeoFile } from './kernel/geo.ts';
import type { LogLevel } from './kernel/log.ts';

export interface Setting {
  readonly env: string;
  readonly takes: string;
  /** Shown in the documentation; what applies when the variable is not set. */
  readonly default: string;
  readonly description: string;
  readonly secret?: boolean;
}

export interface Config {
  readonly port: number;
  readonly host: string;
  readonly dataDir: string;
  readonly publicUrl: string;
  readonly defaultDomain: string;
  readonly apiHost: string | undefined;
  readonly appHost: string | undefined;
  readonly verifyDomains: boolean;
  readonly apiKey: string | undefined;
  readonly trustedProxies: readonly string[];
  readonly allowPrivate: readonly string[];
  readonly databaseUrl: string | undefined;
  readonly databasePool: number;
  readonly sqliteSync: 'full' | 'normal';
  readonly clickhouseUrl: string | undefined;
  readonly clickhouseCluster: string | undefined;
  readonly redisUrl: string | undefined;
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly geoFiles: readonly string[];
  readonly currencyRatesFile: string | undefined;
  readonly logLevel: LogLevel;
  readonly maxInFlight: number;
  readonly maxConnections: number;
  readonly bodyLimitBytes: number;
  readonly drainMs: number;
  /** The npm script that runs this process, if one does. */
  readonly npmScript: string | undefined;
}

export class ConfigError extends Error {
  override name = 'ConfigError';
}

type Field<T> = Setting & { readonly read: (text: string | undefined, env: Env) => T };
type Env = Readonly<Record<string, string | undefined>>;

const port: Field<number> = {
  env: 'PORT',
  takes: 'a number from 0 to 65535 (0: any free port)',
  default: '3000',
  description: 'The port to listen on, for HTTP and HTTPS alike.',
  read: (text) => whole(text ?? '3000', 0, 65535),
};

/** One entry per variable, in the order of the documentation. */
const FIELDS = {
  port,
  host: {
    env: 'HOST',
    takes: 'an IP address or a host name',
    default: '127.0.0.1',
    description: 'The address to listen on. 0.0.0.0 or :: makes the server reachable from other machines.',
    read: (text) => text ?? '127.0.0.1',
  },
  dataDir: {
    env: 'LINKTRAIL_DATA_DIR',
    takes: 'a folder; made when missing',
    default: './data',
    description:
      'Where everything is kept: the database, the certificate, the pid file and the control socket.',
    read: (text) => resolve(text ?? './data'),
  },
  publicUrl: {
    env: 'LINKTRAIL_PUBLIC_URL',
    takes: 'an http:// or https:// address without a path',
    default: 'http://localhost:$PORT',
    description:
      'The address people use, for links made outside a request. Its host counts as one of the service’s own.',
    read: (text, env) => (text === undefined ? `http://${localHost(env)}` : origin(text)),
  },
  defaultDomain: {
    env: 'LINKTRAIL_DEFAULT_DOMAIN',
    takes: 'a host name, with a port where it is not the usual one',
    default: 'localhost:$PORT',
    description:
      'The domain of short links that name no other. It belongs to no workspace and all may use it.',
    read: (text, env) => hostName(text ?? localHost(env)),
  },
  apiHost: {
    env: 'LINKTRAIL_API_HOST',
    takes: 'a host name',
    default: '',
    description: 'A host that has the API at its root too, for clients that cannot keep a path.',
    read: (text) => optional(text, hostName),
  },
  appHost: {
    env: 'LINKTRAIL_APP_HOST',
    takes: 'a host name',
    default: '',
    description: 'A host reserved for the dashboard.',
    read: (text) => optional(text, hostName),
  },
  verifyDomains: {
    env: 'LINKTRAIL_VERIFY_DOMAINS',
    takes: 'on or off',
    default: 'off',
    description:
      'Whether checking a domain looks at its DNS: that it points to the host of LINKTRAIL_PUBLIC_URL, and that its owner has put our code into a TXT record. off: every domain passes. Links work either way.',
    read: (text) => parse(z.enum(['on', 'off']), text ?? 'off') === 'on',
  },
  apiKey: {
    env: 'LINKTRAIL_API_KEY',
    takes: 'at least 16 characters without spaces',
    default: 'generated and printed once',
    description: 'The owner key of the first workspace. Read at the first start only.',
    secret: true,
    read: (text) => optional(text, (value) => parse(z.string().regex(/^[^\s]{16,200}$/), value)),
  },
  trustedProxies: {
    env: 'LINKTRAIL_TRUSTED_PROXIES',
    takes: 'addresses and networks, separated by commas, such as 10.0.0.0/8,::1',
    default: 'loopback',
    description: 'Proxies whose X-Forwarded-For, -Proto and -Host are believed.',
    read: (text) => (text === undefined || text === 'loopback' ? LOOPBACK_PROXIES : parseCidrs(text)),
  },
  allowPrivate: {
    env: 'LINKTRAIL_ALLOW_PRIVATE',
    takes: 'addresses and networks, separated by commas',
    default: '',
    description: 'Private networks that requests made by the server may reach. None by default.',
    read: (text) => (text === undefined ? [] : parseCidrs(text)),
  },
  databaseUrl: {
    env: 'DATABASE_URL',
    takes: 'postgres://user:password@host:port/database',
    default: 'SQLite in the data directory',
    description: 'PostgreSQL instead of the embedded SQLite.',
    secret: true,
    read: (text) => optional(text, (value) => url(value, ['postgres:', 'postgresql:'])),
  },
  databasePool: {
    env: 'LINKTRAIL_DATABASE_POOL',
    takes: 'a number from 1 to 500',
    default: '10',
    description: 'How many PostgreSQL connections this process may hold.',
    read: (text) => whole(text ?? '10', 1, 500),
  },
  sqliteSync: {
    env: 'LINKTRAIL_SQLITE_SYNC',
    takes: 'full or normal',
    default: 'full',
    description:
      'When SQLite waits for the disk. full: at every commit, so that not even a power cut loses an answered write. normal: now and then; a killed process still loses nothing.',
    read: (text) => parse(z.enum(['full', 'normal']), text ?? 'full'),
  },
  clickhouseUrl: {
    env: 'CLICKHOUSE_URL',
    takes: 'http(s)://user:password@host:port/database',
    default: 'DuckDB in the data directory',
    description:
      'ClickHouse instead of the embedded DuckDB, for events of several nodes. The address is that of its HTTP interface; without a database in it, linktrail is taken, and made where it is missing.',
    secret: true,
    read: (text) => optional(text, (value) => url(value, ['http:', 'https:'])),
  },
  clickhouseCluster: {
    env: 'LINKTRAIL_CLICKHOUSE_CLUSTER',
    takes: 'the name of a cluster in the configuration of ClickHouse',
    default: '',
    description:
      'Makes the tables on all servers of that cluster, as replicas of each other. Not covered by the tests.',
    read: (text) => optional(text, (value) => parse(z.string().regex(/^[\w.-]{1,100}$/), value)),
  },
  redisUrl: {
    env: 'REDIS_URL',
    takes: 'redis://host:port',
    default: '',
    description: 'Reserved: limits shared by several nodes. This release warns and goes on without it.',
    secret: true,
    read: (text) => optional(text, (value) => url(value, ['redis:', 'rediss:'])),
  },
  tlsCert: {
    env: 'LINKTRAIL_TLS_CERT',
    takes: 'a PEM file',
    default: 'a self-signed certificate',
    description:
      'The certificate for HTTPS. Together with LINKTRAIL_TLS_KEY; a renewed file is picked up while running.',
    read: (text) => optional(text, existingFile),
  },
  tlsKey: {
    env: 'LINKTRAIL_TLS_KEY',
    takes: 'a PEM file',
    default: '',
    description: 'The private key of the certificate.',
    read: (text) => optional(text, existingFile),
  },
  geoFiles: {
    env: 'LINKTRAIL_GEO_FILE',
    takes: 'files in MaxMind’s format (.mmdb), separated by commas',
    default: 'the country file that comes with the product',
    description:
      'Where visitors come from, with regions and cities. Used before the country file; the first that knows an address has the say.',
    read: (text) => (text === undefined ? [] : text.split(',').map((path) => geoFile(path.trim()))),
  },
  currencyRatesFile: {
    env: 'LINKTRAIL_CURRENCY_RATES_FILE',
    takes: 'a JSON file: {"date": "2026-01-31", "rates": {"eur": 0.85, …}}',
    default: 'the rates that come with the product',
    description:
      'Exchange rates for sales: units of each currency for one US dollar, on one day. They replace all of ours; a currency that is not in the file is refused.',
    read: (text) => optional(text, existingFile),
  },
  logLevel: {
    env: 'LINKTRAIL_LOG_LEVEL',
    takes: 'debug, info, warn, error or silent',
    default: 'info',
    description: 'How much is logged, as JSON lines on standard error. info has one line per API request.',
    read: (text) => parse(z.enum(['debug', 'info', 'warn', 'error', 'silent']), text ?? 'info'),
  },
  maxInFlight: {
    env: 'LINKTRAIL_MAX_IN_FLIGHT',
    takes: 'a number from 1 to 1000000',
    default: '1000',
    description:
      'API requests that may be under way at once. More are answered with 429; visits are not affected.',
    read: (text) => whole(text ?? '1000', 1, 1_000_000),
  },
  maxConnections: {
    env: 'LINKTRAIL_MAX_CONNECTIONS',
    takes: 'a number from 10 to 1000000',
    default: '10000',
    description: 'Open connections; beyond it the longest idle one makes room.',
    read: (text) => whole(text ?? '10000', 10, 1_000_000),
  },
  bodyLimitBytes: {
    env: 'LINKTRAIL_BODY_LIMIT',
    takes: 'bytes, from 1024 to 104857600',
    default: '2097152',
    description: 'The largest request body, unless an operation has a limit of its own.',
    read: (text) => whole(text ?? '2097152', 1024, 104_857_600),
  },
  drainMs: {
    env: 'LINKTRAIL_DRAIN_MS',
    takes: 'milliseconds, from 0 to 600000',
    default: '10000',
    description: 'How long requests under way may take to finish when the server is told to stop.',
    read: (text) => whole(text ?? '10000', 0, 600_000),
  },
} satisfies { [K in keyof Omit<Config, 'npmScript'>]: Field<Config[K]> };

export const SETTINGS: readonly Setting[] = Object.values(FIELDS);

/** Reads the process environment, after the file .env of the working directory where there is one. */
export function loadConfig(): Config {
  if (existsSync('.env')) process.loadEnvFile('.env');
  return readConfig(process.env);
}

export function readConfig(env: Env): Config {
  const values = Object.fromEntries(
    Object.entries(FIELDS).map(([name, field]) => [name, readField(field, env)]),
  );
  const config = { ...values, npmScript: env.npm_lifecycle_event } as unknown as Config;
  if ((config.tlsCert === undefined) !== (config.tlsKey === undefined)) {
    throw new ConfigError('LINKTRAIL_TLS_CERT and LINKTRAIL_TLS_KEY belong together: set both or neither.');
  }
  return Object.freeze(config);
}

function readField(field: Field<unknown>, env: Env): unknown {
  const text = env[field.env]?.trim() || undefined;
  try {
    return field.read(text, env);
  } catch {
    const got = field.secret ? 'a value that does not fit' : `"${text}"`;
    throw new ConfigError(`${field.env} is ${got}. It takes ${field.takes}.`);
  }
}

/** Variable, effective value and where it comes from; secrets are hidden. */
export function describeConfig(config: Config, env: Env = process.env) {
  return Object.entries(FIELDS).map(([name, field]) => {
    const value = config[name as keyof Config];
    const shown = asText(value);
    const secret = 'secret' in field && field.secret && value !== undefined;
    return {
      variable: field.env,
      value: secret ? '(set, hidden)' : shown,
      set: Boolean(env[field.env]?.trim()),
    };
  });
}

/** The form in which the variable takes it. */
function asText(value: Config[keyof Config]): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  return value === undefined ? '' : String(value);
}

function parse<T>(schema: z.ZodType<T>, text: string): T {
  return schema.parse(text);
}

function optional<T>(text: string | undefined, read: (text: string) => T): T | undefined {
  return text === undefined ? undefined : read(text);
}

function whole(text: string, min: number, max: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) throw new Error('not a whole number in range');
  return value;
}

function url(text: string, protocols: string[]): string {
  if (!protocols.includes(new URL(text).protocol)) throw new Error('another protocol');
  return text;
}

function origin(text: string): string {
  const { protocol, pathname, search, origin: value } = new URL(text);
  if (!['http:', 'https:'].includes(protocol) || pathname !== '/' || search !== '')
    throw new Error('not an origin');
  return value;
}

function hostName(text: string): string {
  const folded = text.toLowerCase().replace(/\.$/, '');
  if (!parseHost(folded)) throw new Error('not a host name');
  return folded;
}

/** Where any free port may be taken, the name alone: it stands for every port. */
function localHost(env: Env): string {
  const chosen = env.PORT?.trim() || '3000';
  return Number(chosen) === 0 ? 'localhost' : `localhost:${chosen}`;
}

function geoFile(text: string): string {
  if (!isGeoFile(text)) throw new Error('another format');
  return resolve(text);
}

function existingFile(text: string): string {
  if (!existsSync(text)) throw new Error('no such file');
  return resolve(text);
}
