// Where the TLS certificate comes from: the operator's files, or one we sign ourselves so that a fresh
// installation speaks TLS at once. A source returns the same object until its certificate changes, and may
// be asked again at any time: renewed files and expiring certificates are noticed without a restart.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { type Clock, systemClock } from '../kernel/clock.ts';
import { parseHost } from './host.ts';

export interface Certificate {
  key: string;
  cert: string;
}

export type CertificateSource = () => Promise<Certificate>;

const DAY_MS = 86_400_000;
/** The longest life that every browser accepts, also of a certificate its user chose to trust. */
const LIFETIME_MS = 820 * DAY_MS;
const RENEW_BEFORE_MS = 30 * DAY_MS;

/** Kept in `<dataDir>/tls`; made anew when missing, damaged, about to expire, or lacking a host name. */
export function selfSignedCertificate(
  dataDir: string,
  hostnames: readonly string[],
  clock: Clock = systemClock,
): CertificateSource {
  const paths = pathsIn(join(dataDir, 'tls'));
  const names = certificateNames(hostnames);
  let current: (Certificate & { renewAtMs: number }) | undefined;
  return oneAtATime(async () => {
    if (current && clock.now() < current.renewAtMs) return current;
    const kept = await findKept(paths);
    const usable = kept && covers(kept, names) && clock.now() < renewalTime(kept);
    const pair = usable ? kept : await makeCertificate(names, clock.now());
    if (!usable) await keep(paths, pair);
    current = { ...pair, renewAtMs: renewalTime(pair) };
    return current;
  });
}

/** Reads the files again when one of them changed. */
export function fileCertificate(certPath: string, keyPath: string): CertificateSource {
  let current: Certificate | undefined;
  let version = '';
  return oneAtATime(async () => {
    const found = `${await fileVersion(certPath)} ${await fileVersion(keyPath)}`;
    if (current && found === version) return current;
    const pair = { cert: await readText(certPath), key: await readText(keyPath) };
    assertUsable(pair, certPath, keyPath);
    current = pair;
    version = found;
    return current;
  });
}

interface Paths {
  folder: string;
  key: string;
  cert: string;
}

function pathsIn(folder: string): Paths {
  return { folder, key: join(folder, 'key.pem'), cert: join(folder, 'cert.pem') };
}

/** Callers that come while an answer is being prepared share it. */
function oneAtATime<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load().finally(() => {
      loading = undefined;
    });
    return loading;
  };
}

function certificateNames(hostnames: readonly string[]): string[] {
  const names = hostnames.map((text) => {
    const host = isIP(text) === 6 ? text : parseHost(text)?.name;
    if (!host) throw new Error(`"${text}" is no host name to make a TLS certificate for`);
    return host.replace(/^\[|\]$/g, '');
  });
  return [...new Set([...names, 'localhost', '127.0.0.1', '::1'])];
}

async function makeCertificate(names: string[], nowMs: number): Promise<Certificate> {
  const altNames = names.map((name) =>
    isIP(name) ? { type: 7 as const, ip: name } : { type: 2 as const, value: name },
  );
  // Loading the package takes longer than starting the rest of the server, and few installations need it.
  const { generate } = await import('selfsigned');
  const made = await generate([{ name: 'commonName', value: 'Linktrail' }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    // A day early, for clients whose clock is behind.
    notBeforeDate: new Date(nowMs - DAY_MS),
    notAfterDate: new Date(nowMs + LIFETIME_MS),
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames },
    ],
  });
  return { key: made.private, cert: made.cert };
}

async function findKept({ key, cert }: Paths): Promise<Certificate | undefined> {
  try {
    const pair = { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
    return belongTogether(pair) ? pair : undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Files that we may not read are somebody's choice; what is missing or no PEM we make anew.
    if (code === 'EACCES' || code === 'EPERM') throw unreadable(`${cert} or ${key}`, error);
    return undefined;
  }
}

function covers({ cert }: Certificate, names: string[]): boolean {
  const parsed = new X509Certificate(cert);
  return names.every((name) => (isIP(name) ? parsed.checkIP(name) : parsed.checkHost(name)) !== undefined);
}

function renewalTime({ cert }: Certificate): number {
  return new X509Certificate(cert).validToDate.getTime() - RENEW_BEFORE_MS;
}

function belongTogether({ key, cert }: Certificate): boolean {
  return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
}

/** A crash between the two files leaves a pair that does not belong together, which counts as damaged. */
async function keep(paths: Paths, pair: Certificate): Promise<void> {
  try {
    await mkdir(paths.folder, { recursive: true, mode: 0o700 });
    await replaceFile(paths.key, pair.key);
    await replaceFile(paths.cert, pair.cert);
  } catch (cause) {
    throw new Error(`Cannot keep the TLS certificate in ${paths.folder}`, { cause });
  }
}

async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.${process.pid}.tmp`;
  await writeFile(draft, text, { mode: 0o600 });
  await rename(draft, path);
}

async function fileVersion(path: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(path);
    return `${mtimeMs}/${size}/${ino}`;
  } catch (error) {
    throw unreadable(path, error);
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, cause: unknown): Error {
  const { code } = cause as NodeJS.ErrnoException;
  return new Error(`Cannot read the TLS certificate file ${path} (${code})`, { cause });
}

function assertUsable(pair: Certificate, certPath: string, keyPath: string): void {
  const cert = attempt(() => new X509Certificate(pair.cert), `${certPath} holds no certificate in PEM form`);
  const key = attempt(
    () => createPrivateKey(pair.key),
    `${keyPath} holds no private key in PEM form that can be used without a passphrase`,
  );
  if (!cert.checkPrivateKey(key)) {
    throw new Error(`The private key in ${keyPath} does not belong to the certificate in ${certPath}`);
  }
}

function attempt<T>(read: () => T, message: string): T {
  try {
    return read();
  } catch (cause) {
    throw new Error(message, { cause });
  }
}
