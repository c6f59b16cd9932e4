// Health of the process: alive, and ready for work. Each part is asked with a time-out, so that a hanging
// store makes the server unready and not the probe.
export interface HealthPart {
  readonly name: string;
  check(): Promise<void>;
}

export interface HealthReport {
  readonly ready: boolean;
  readonly parts: Record<string, string>;
}

export async function readiness(parts: readonly HealthPart[], timeoutMs: number): Promise<HealthReport> {
  const results = await Promise.all(parts.map(async (part) => [part.name, await outcome(part, timeoutMs)] as const));
  return { ready: results.every(([, text]) => text === 'ok'), parts: Object.fromEntries(results) };
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
