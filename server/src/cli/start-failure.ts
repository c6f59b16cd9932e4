// Why the server cannot start, in one line that names the setting to change.
import { DataDirLockedError } from '../app.ts';
import { type Config, ConfigError } from '../config.ts';
import { findStoreError } from '../db/store-error.ts';
import { portFailure } from './machine-checks.ts';

/** `config` is undefined when reading it was what failed. */
export function describeStartFailure(error: unknown, config: Config | undefined): string {
  if (error instanceof ConfigError || error instanceof DataDirLockedError) return error.message;
  const message = error instanceof Error ? error.message || error.name : String(error);
  return (
    (config && ofSettings(error as NodeJS.ErrnoException, message, config)) ??
    `Linktrail cannot start: ${message}`
  );
}

function ofSettings(error: NodeJS.ErrnoException, message: string, config: Config): string | undefined {
  if (findStoreError(error)) {
    const name = config.databaseUrl
      ? 'DATABASE_URL names a database that'
      : `The database in ${config.dataDir}`;
    return `${name} cannot be used: ${message}`;
  }
  if (isAboutPort(error)) return portText(error.code ?? '', config);
  if (isAboutFolder(error, config.dataDir)) {
    return `LINKTRAIL_DATA_DIR is "${config.dataDir}", which cannot be used: ${message}. It takes a folder that this user may write to.`;
  }
  return undefined;
}

/** The control socket has port -1. */
function isAboutPort(error: NodeJS.ErrnoException & { port?: number }): boolean {
  return ['listen', 'getaddrinfo'].includes(error.syscall ?? '') && error.port !== -1;
}

function portText(code: string, { host, port }: Config): string {
  const { text, advice } = portFailure(code, host, port);
  return `${['EADDRINUSE', 'EACCES'].includes(code) ? 'Port' : 'HOST'} ${text}. ${advice}`;
}

/** The folder itself, something in it, or the folder above that it has to be made in. */
function isAboutFolder({ path }: NodeJS.ErrnoException, dataDir: string): boolean {
  return path !== undefined && (path.startsWith(dataDir) || dataDir.startsWith(path));
}
