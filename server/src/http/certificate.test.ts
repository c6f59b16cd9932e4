import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { manualClock } from '../kernel/clock.ts';
import { fileCertificate, selfSignedCertificate } from './certificate.ts';

const DAY_MS = 86_400_000;

async function freshFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'linktrail-certificate-'));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

describe('the self-signed certificate', () => {
  it('names the given hosts and the local ones, and lives no longer than browsers accept', async (t) => {
    const { cert } = await selfSignedCertificate(await freshFolder(t), [
      'Go.example.com:8443',
      '192.0.2.7',
    ])();
    const parsed = new X509Certificate(cert);
    assert.equal(parsed.checkHost('go.example.com'), 'go.example.com');
    assert.equal(parsed.checkHost('localhost'), 'localhost');
    for (const ip of ['192.0.2.7', '127.0.0.1', '::1']) assert.equal(parsed.checkIP(ip), ip);
    assert.equal(parsed.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1');
    assert.ok(parsed.validToDate.getTime() - parsed.validFromDate.getTime() <= 825 * DAY_MS);
  });

  it('is kept in files that only the owner can read, and read from them afterwards', async (t) => {
    const dataDir = await freshFolder(t);
    const made = await selfSignedCertificate(dataDir, ['a.example'])();
    assert.deepEqual((await readdir(join(dataDir, 'tls'))).sort(), ['cert.pem', 'key.pem']);
    for (const file of ['cert.pem', 'key.pem']) {
      assert.equal((await stat(join(dataDir, 'tls', file))).mode & 0o777, 0o600);
    }
    const again = await selfSignedCertificate(dataDir, ['a.example'])();
    assert.equal(again.cert, made.cert);
    assert.equal(again.key, made.key);
  });

  it('is made once for callers that come together, and is the same object until it is renewed', async (t) => {
    const clock = manualClock(Date.UTC(2030, 0, 1));
    const source = selfSignedCertificate(await freshFolder(t), [], clock);
    const [first, second] = await Promise.all([source(), source()]);
    assert.equal(first, second);
    clock.advance(700 * DAY_MS);
    assert.equal(await source(), first);
    clock.advance(100 * DAY_MS);
    const renewed = await source();
    assert.notEqual(renewed.cert, first.cert);
    assert.ok(new X509Certificate(renewed.cert).validToDate.getTime() > clock.now() + 700 * DAY_MS);
  });

  it('is made anew when it lacks a host name', async (t) => {
    const dataDir = await freshFolder(t);
    await selfSignedCertificate(dataDir, ['a.example'])();
    const { cert } = await selfSignedCertificate(dataDir, ['a.example', 'b.example'])();
    assert.equal(new X509Certificate(cert).checkHost('b.example'), 'b.example');
  });

  it('is made anew when its files are damaged or do not belong together', async (t) => {
    const dataDir = await freshFolder(t);
    const other = await selfSignedCertificate(await freshFolder(t), [])();
    const first = await selfSignedCertificate(dataDir, [])();
    await writeFile(join(dataDir, 'tls', 'key.pem'), other.key);
    const second = await selfSignedCertificate(dataDir, [])();
    assert.notEqual(second.cert, first.cert);
    await writeFile(join(dataDir, 'tls', 'cert.pem'), 'damaged');
    const third = await selfSignedCertificate(dataDir, [])();
    assert.equal(await readFile(join(dataDir, 'tls', 'cert.pem'), 'utf8'), third.cert);
  });

  it('refuses a host name that cannot be in a certificate', async (t) => {
    const dataDir = await freshFolder(t);
    assert.throws(() => selfSignedCertificate(dataDir, ['a b']), /"a b" is no host name/);
  });
});

describe('the certificate from files', () => {
  async function filesOf(t: TestContext, pair: { key: string; cert: string }) {
    const folder = await freshFolder(t);
    const [certPath, keyPath] = [join(folder, 'c.pem'), join(folder, 'k.pem')];
    await writeFile(certPath, pair.cert);
    await writeFile(keyPath, pair.key);
    return { certPath, keyPath };
  }

  it('is read again when the files changed, and is the same object otherwise', async (t) => {
    const old = await selfSignedCertificate(await freshFolder(t), [])();
    const renewed = await selfSignedCertificate(await freshFolder(t), [])();
    const { certPath, keyPath } = await filesOf(t, old);
    const source = fileCertificate(certPath, keyPath);
    const first = await source();
    assert.deepEqual(first, { key: old.key, cert: old.cert });
    assert.equal(await source(), first);

    await writeFile(certPath, renewed.cert);
    await utimes(certPath, 1, 1);
    await assert.rejects(source(), /does not belong/);
    await writeFile(keyPath, renewed.key);
    await utimes(keyPath, 1, 1);
    assert.deepEqual(await source(), { key: renewed.key, cert: renewed.cert });
  });

  it('says what is wrong with the files', async (t) => {
    const pair = await selfSignedCertificate(await freshFolder(t), [])();
    const { certPath, keyPath } = await filesOf(t, pair);
    await assert.rejects(fileCertificate(`${certPath}.no`, keyPath)(), /Cannot read .*c\.pem\.no \(ENOENT\)/);
    await assert.rejects(fileCertificate(keyPath, keyPath)(), /k\.pem holds no certificate/);
    await assert.rejects(fileCertificate(certPath, certPath)(), /c\.pem holds no private key/);
  });
});
