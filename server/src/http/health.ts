// Health of the process: alive, and ready for work. Each part is asked with a time-out, so that a hanging
// store makes the server unready and not the probe.
export interface HealthPart {
  readonly name: string;
  /** False: when it fails the server is degraded, but ready. */
  readonly needed?: boolean;
  check(): Promise<void>;
}

export interface HealthReport {
  readonly ready: boolean;
  readonly status: 'ok' | 'degraded' | 'unavailable';
  readonly parts: Record<string, string>;
}

export async function readiness(parts: readonly HealthPart[], timeoutMs: number): Promise<HealthReport> {
  const results = await Promise.all(
    parts.map(async (part) => [part.name, await outcome(part, timeoutMs)] as const),
  );
  const failed = parts.filter((_, i) => results[i]?.[1] !== 'ok');
  const ready = failed.every((part) => part.needed === false);
  const status = !ready ? 'unavailable' : failed.length > 0 ? 'degraded' : 'ok';
  return { ready, status, parts: Object.fromEntries(results) };
}

async function outcome(part: HealthPart, timeoutMs: number): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer within ${timeoutMs} ms`), timeoutMs);
  });
  const checked = part.check().then(
    () => 'ok',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  try {
    return await Promise.race([checked, late]);
  } finally {
    clearTimeout(timer);
  }
}
