// Runs the server until it is told to stop, and tells a person how to use it.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type App, openApp } from './app.ts';
import { serveControl } from './cli/control.ts';
import { checkCertificate } from './cli/machine-checks.ts';
import { describeStartFailure } from './cli/start-failure.ts';
import { type Config, ConfigError, loadConfig } from './config.ts';
import { ensureFirstWorkspace, type FirstWorkspace } from './first-workspace.ts';
import { AppError } from './kernel/errors.ts';
import { watchLauncher } from './launcher.ts';

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

export async function startServer(): Promise<void> {
  let config: Config | undefined;
  try {
    config = loadConfig();
    const certificate = await checkCertificate(config);
    if (certificate.state === 'fail') throw new ConfigError(certificate.text);
    const app = await openApp({ config });
    await run(app).catch(async (error: unknown) => {
      await app.close();
      throw error;
    });
  } catch (error) {
    process.stderr.write(`${describeStartFailure(error, config)}\n`);
    process.exit(1);
  }
}

async function run(app: App): Promise<void> {
  const { config } = app;
  const control = await serveControl(app);
  const pidFile = join(config.dataDir, 'linktrail.pid');
  const tearDown = async () => {
    await control.close();
    await app.close();
    await rm(pidFile, { force: true });
    app.log.flush();
  };
  try {
    const listener = await app.listen();
    // Only now: a key made by a start that fails would never be shown.
    const first = await firstWorkspace(app);
    await writeFile(pidFile, `${process.pid}\n`);
    stopOnSignals(app, tearDown);
    warnOfReserved(app);
    process.stdout.write(banner(config, listener.address.port, first));
    app.log.info({ pid: process.pid, port: listener.address.port, database: app.db.engine }, 'started');
  } catch (error) {
    await tearDown();
    throw error;
  }
}

function stopOnSignals({ config, log }: App, tearDown: () => Promise<void>): void {
  let stopping = false;
  const stop = (reason: string) => {
    if (stopping) return;
    stopping = true;
    log.info({ reason }, 'stopping');
    void tearDown().then(() => process.exit(0));
  };
  for (const signal of SIGNALS) process.on(signal, () => stop(signal));
  watchLauncher({ lifecycleEvent: config.npmScript, onGone: () => stop('the launcher is gone') });
}

/** Another node that starts at the same moment may be first; then there is nothing to do. */
async function firstWorkspace({ services, config, db }: App): Promise<FirstWorkspace | undefined> {
  try {
    return await ensureFirstWorkspace(services, config, (work) => db.write(work));
  } catch (error) {
    if (error instanceof AppError && error.code === 'conflict') return undefined;
    throw error;
  }
}

function warnOfReserved({ config, log }: App): void {
  if (config.redisUrl) log.warn({}, 'REDIS_URL is set, but this release keeps limits in memory');
}

function banner(config: Config, port: number, first: FirstWorkspace | undefined): string {
  const local = `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`;
  const address = ['0.0.0.0', '::'].includes(config.host) ? `http://localhost:${port}` : local;
  const lines = [
    '',
    `  Linktrail is ready at ${address} (pid ${process.pid})`,
    `  API reference: ${address}/api/reference`,
    `  Data: ${config.dataDir}`,
  ];
  if (first) {
    lines.push('', `  First workspace: ${first.workspace.name} (${first.workspace.id})`);
    lines.push(
      `  API key: ${first.chosen ? 'the one in LINKTRAIL_API_KEY' : `${first.key}   (shown this once: keep it)`}`,
    );
  }
  const key = first && !first.chosen ? first.key : '$LINKTRAIL_API_KEY';
  lines.push('', '  Try it:', `    curl -H "Authorization: Bearer ${key}" ${address}/api/tags`);
  if (!first) lines.push('  Lost the key? npx linktrail key create main');
  return `${lines.join('\n')}\n\n`;
}
