// One finding of the doctor, and how findings read.

export interface Check {
  readonly name: string;
  readonly state: 'ok' | 'warn' | 'fail';
  readonly text: string;
  /** What to do about it. */
  readonly advice?: string;
}

export function printChecks(checks: readonly Check[]): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.flatMap(({ name, state, text, advice }) => [
    `${state.padEnd(4)}  ${name.padEnd(width)}  ${text}`,
    ...(advice === undefined ? [] : [`${' '.repeat(width + 8)}→ ${advice}`]),
  ]);
  const count = (state: Check['state']) => checks.filter((check) => check.state === state).length;
  return [...lines, '', `${count('ok')} ok, ${count('warn')} to look at, ${count('fail')} failed`].join('\n');
}
