// Work that a job does for every program: one that fails does not keep the others waiting.

const PROGRAMS_PER_LOOK = 100;

/** In the order of their ids; throws what the first failure was once all had their turn. */
export async function forEachProgram(
  findIds: (after: string, limit: number) => Promise<readonly string[]>,
  work: (programId: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const failures: unknown[] = [];
  for (let after = ''; !signal.aborted; ) {
    const some = await findIds(after, PROGRAMS_PER_LOOK);
    for (const programId of some) {
      if (signal.aborted) break;
      await work(programId).catch((error) => failures.push(error));
    }
    after = some.at(-1) ?? '';
    if (some.length < PROGRAMS_PER_LOOK) break;
  }
  if (failures.length > 0) throw failures[0];
}
