// One JSON line per entry on standard error (or wherever `write` points); standard output belongs to people.
import { destination, pino } from 'pino';

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  flush(): void;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export function createLog(level: LogLevel, write?: (line: string) => void): Log {
  const stream = write ? { write } : destination({ fd: 2, sync: false });
  const log = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, messageKey: 'message' },
    stream,
  );
  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => log.info(fields, message),
    warn: (fields, message) => log.warn(fields, message),
    error: (fields, message) => log.error(fields, message),
    flush: () => {
      if ('flushSync' in stream) stream.flushSync();
    },
  };
}

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, flush() {} };
