import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Config, ConfigError, describeConfig, readConfig, SETTINGS } from './config.ts';
import { ownCountryFile } from './kernel/geo.ts';

type Field = keyof Config;

/** Variable, field, what is set, what is read. */
const GOOD: readonly [string, Field, string, unknown][] = [
  ['PORT', 'port', '0', 0],
  ['PORT', 'port', ' 8080 ', 8080],
  ['PORT', 'port', '65535', 65535],
  ['PORT', 'port', '', 3000],
  ['HOST', 'host', '0.0.0.0', '0.0.0.0'],
  ['HOST', 'host', '::', '::'],
  ['LINKTRAIL_DATA_DIR', 'dataDir', './somewhere', resolve('./somewhere')],
  ['LINKTRAIL_DATA_DIR', 'dataDir', '', resolve('./data')],
  ['LINKTRAIL_PUBLIC_URL', 'publicUrl', 'https://Links.Example.com/', 'https://links.example.com'],
  ['LINKTRAIL_PUBLIC_URL', 'publicUrl', 'http://localhost:8080', 'http://localhost:8080'],
  ['LINKTRAIL_PUBLIC_URL', 'publicUrl', '', 'http://localhost:3000'],
  ['LINKTRAIL_DEFAULT_DOMAIN', 'defaultDomain', 'Go.Example.com.', 'go.example.com'],
  ['LINKTRAIL_DEFAULT_DOMAIN', 'defaultDomain', 'go.example.com:8443', 'go.example.com:8443'],
  ['LINKTRAIL_DEFAULT_DOMAIN', 'defaultDomain', '', 'localhost:3000'],
  ['LINKTRAIL_API_HOST', 'apiHost', 'api.example.com', 'api.example.com'],
  ['LINKTRAIL_API_HOST', 'apiHost', '', undefined],
  ['LINKTRAIL_APP_HOST', 'appHost', 'app.example.com', 'app.example.com'],
  ['LINKTRAIL_VERIFY_DOMAINS', 'verifyDomains', 'on', true],
  ['LINKTRAIL_VERIFY_DOMAINS', 'verifyDomains', '', false],
  ['LINKTRAIL_API_KEY', 'apiKey', 'a-key-of-16-char', 'a-key-of-16-char'],
  ['LINKTRAIL_API_KEY', 'apiKey', '', undefined],
  ['LINKTRAIL_TRUSTED_PROXIES', 'trustedProxies', '', ['127.0.0.0/8', '::1/128']],
  ['LINKTRAIL_TRUSTED_PROXIES', 'trustedProxies', 'loopback', ['127.0.0.0/8', '::1/128']],
  ['LINKTRAIL_TRUSTED_PROXIES', 'trustedProxies', '10.0.0.0/8, fd00::/8', ['10.0.0.0/8', 'fd00::/8']],
  ['LINKTRAIL_ALLOW_PRIVATE', 'allowPrivate', '', []],
  ['LINKTRAIL_ALLOW_PRIVATE', 'allowPrivate', '192.168.1.5', ['192.168.1.5']],
  ['DATABASE_URL', 'databaseUrl', 'postgres://u:p@h:5432/d', 'postgres://u:p@h:5432/d'],
  ['DATABASE_URL', 'databaseUrl', 'postgresql://h/d', 'postgresql://h/d'],
  ['DATABASE_URL', 'databaseUrl', '', undefined],
  ['LINKTRAIL_DATABASE_POOL', 'databasePool', '1', 1],
  ['LINKTRAIL_DATABASE_POOL', 'databasePool', '500', 500],
  ['LINKTRAIL_SQLITE_SYNC', 'sqliteSync', 'normal', 'normal'],
  ['LINKTRAIL_SQLITE_SYNC', 'sqliteSync', '', 'full'],
  ['CLICKHOUSE_URL', 'clickhouseUrl', 'https://u:p@h:8443/d', 'https://u:p@h:8443/d'],
  ['LINKTRAIL_CLICKHOUSE_CLUSTER', 'clickhouseCluster', 'events-1', 'events-1'],
  ['REDIS_URL', 'redisUrl', 'rediss://h:6379', 'rediss://h:6379'],
  ['LINKTRAIL_GEO_FILE', 'geoFiles', ownCountryFile(), [ownCountryFile()]],
  ['LINKTRAIL_CURRENCY_RATES_FILE', 'currencyRatesFile', import.meta.filename, import.meta.filename],
  ['LINKTRAIL_LOG_LEVEL', 'logLevel', 'silent', 'silent'],
  ['LINKTRAIL_LOG_LEVEL', 'logLevel', '', 'info'],
  ['LINKTRAIL_MAX_IN_FLIGHT', 'maxInFlight', '1', 1],
  ['LINKTRAIL_MAX_CONNECTIONS', 'maxConnections', '10', 10],
  ['LINKTRAIL_BODY_LIMIT', 'bodyLimitBytes', '1024', 1024],
  ['LINKTRAIL_DRAIN_MS', 'drainMs', '0', 0],
];

const BAD: readonly [string, ...string[]][] = [
  ['PORT', '-1', '65536', '80.5', 'http', '0x50', '1e3'],
  [
    'LINKTRAIL_PUBLIC_URL',
    'links.example.com',
    'ftp://example.com',
    'https://example.com/path',
    'https://example.com?a=1',
    'https://',
  ],
  ['LINKTRAIL_DEFAULT_DOMAIN', 'https://go.example.com', 'go example', 'go.example.com:0', '-', 'a/b'],
  ['LINKTRAIL_API_HOST', 'https://api.example.com', 'a b', '*'],
  ['LINKTRAIL_APP_HOST', 'app/', '?'],
  ['LINKTRAIL_VERIFY_DOMAINS', 'yes', 'ON', '1'],
  ['LINKTRAIL_API_KEY', 'short', 'with spaces in the key', 'x'.repeat(201)],
  ['LINKTRAIL_TRUSTED_PROXIES', '10.0.0.0/33', 'proxy.example.com', '10.0.0', 'loopback,10.0.0.1'],
  ['LINKTRAIL_ALLOW_PRIVATE', 'everything', '::1/129'],
  ['DATABASE_URL', 'mysql://h/d', 'host:5432', '/var/db'],
  ['LINKTRAIL_DATABASE_POOL', '0', '501', 'many'],
  ['LINKTRAIL_SQLITE_SYNC', 'off', 'FULL'],
  ['CLICKHOUSE_URL', 'ch.example.com', 'ftp://h'],
  ['LINKTRAIL_CLICKHOUSE_CLUSTER', 'two words', "quo'te"],
  ['REDIS_URL', 'http://h', 'localhost'],
  ['LINKTRAIL_TLS_CERT', '/no/such/file.pem'],
  ['LINKTRAIL_TLS_KEY', '/no/such/file.pem'],
  ['LINKTRAIL_CURRENCY_RATES_FILE', '/no/such/file.json'],
  ['LINKTRAIL_GEO_FILE', '/no/such/file.mmdb', `${ownCountryFile()},${import.meta.filename}`],
  ['LINKTRAIL_LOG_LEVEL', 'loud', 'INFO'],
  ['LINKTRAIL_MAX_IN_FLIGHT', '0', '1000001', 'Infinity'],
  ['LINKTRAIL_MAX_CONNECTIONS', '9', '1e9'],
  ['LINKTRAIL_BODY_LIMIT', '1023', '2MB'],
  ['LINKTRAIL_DRAIN_MS', '-1', '600001', '10s'],
];

const settingOf = (variable: string) => SETTINGS.find((setting) => setting.env === variable);

describe('configuration', () => {
  for (const [variable, field, text, value] of GOOD) {
    test(`${variable}=${text} is ${JSON.stringify(value)}`, () => {
      assert.deepEqual(readConfig({ [variable]: text })[field], value);
    });
  }

  for (const [variable, ...texts] of BAD) {
    for (const text of texts) {
      test(`${variable}=${text.slice(0, 30)} is refused with what it takes`, () => {
        const setting = settingOf(variable);
        assert.ok(setting, variable);
        assert.throws(
          () => readConfig({ [variable]: text }),
          (error: Error) => {
            assert.ok(error instanceof ConfigError);
            const got = setting.secret ? 'a value that does not fit' : `"${text}"`;
            assert.equal(error.message, `${variable} is ${got}. It takes ${setting.takes}.`);
            return true;
          },
        );
      });
    }
  }

  test('every variable that can be wrong is tried', () => {
    const tried = new Set([...GOOD.map(([variable]) => variable), ...BAD.map(([variable]) => variable)]);
    assert.deepEqual(
      SETTINGS.map((setting) => setting.env).filter((variable) => !tried.has(variable)),
      [],
    );
  });

  test('every variable says what it takes, what applies without it and what it is for', () => {
    for (const { env, takes, description, default: fallback } of SETTINGS) {
      assert.ok(takes.length > 3 && typeof fallback === 'string', env);
      assert.match(description, /^[A-Z].*\.$/s, env);
    }
    assert.equal(new Set(SETTINGS.map((setting) => setting.env)).size, SETTINGS.length);
  });

  test('the port is part of the default addresses', () => {
    const config = readConfig({ PORT: '8080' });
    assert.equal(config.publicUrl, 'http://localhost:8080');
    assert.equal(config.defaultDomain, 'localhost:8080');
  });

  test('cannot be changed once it is read', () => {
    const config = readConfig({});
    assert.throws(() => Object.assign(config, { port: 1 }), TypeError);
  });

  test('shows where values come from and hides secrets', () => {
    const env = {
      PORT: '8080',
      LINKTRAIL_API_KEY: 'a-very-secret-key',
      DATABASE_URL: 'postgres://u:password@h/d',
    };
    const shown = describeConfig(readConfig(env), env);
    assert.ok(!JSON.stringify(shown).includes('secret-key'));
    assert.ok(!JSON.stringify(shown).includes('password'));
    const row = (variable: string) => shown.find((each) => each.variable === variable);
    assert.deepEqual(row('PORT'), { variable: 'PORT', value: '8080', set: true });
    assert.deepEqual(row('HOST'), { variable: 'HOST', value: '127.0.0.1', set: false });
    assert.equal(row('DATABASE_URL')?.value, '(set, hidden)');
    assert.equal(row('REDIS_URL')?.value, '');
    assert.equal(row('LINKTRAIL_VERIFY_DOMAINS')?.value, 'off');
    assert.equal(row('LINKTRAIL_TRUSTED_PROXIES')?.value, '127.0.0.0/8,::1/128');
  });
});

describe('the files of a certificate', () => {
  let folder: string;
  let file: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'linktrail-config-'));
    file = join(folder, 'file.pem');
    await writeFile(file, '');
  });
  after(() => rm(folder, { recursive: true }));

  test('are taken together', () => {
    const config = readConfig({ LINKTRAIL_TLS_CERT: file, LINKTRAIL_TLS_KEY: file });
    assert.equal(config.tlsCert, file);
    assert.equal(config.tlsKey, file);
  });

  test('one without the other is refused', () => {
    for (const variable of ['LINKTRAIL_TLS_CERT', 'LINKTRAIL_TLS_KEY']) {
      assert.throws(
        () => readConfig({ [variable]: file }),
        /LINKTRAIL_TLS_CERT and LINKTRAIL_TLS_KEY belong together/,
      );
    }
  });
});
