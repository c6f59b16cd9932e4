// The table at the end of a benchmark, and the same as JSON.
import { arch, availableParallelism, platform } from 'node:os';
import { type Bar, type Line, meetsBar } from './scenario.ts';

const COLUMNS = ['name', 'what', 'ours', 'baseline', 'ratio', 'bar', 'p50', 'p99', ''];
const TEXT_COLUMNS = 2;

export function formatTable(lines: readonly Line[]): string {
  const rows = [COLUMNS, ...lines.map(formatLine)];
  const widths = COLUMNS.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => pad(cell, widths[i] ?? 0, i))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export function formatJson(lines: readonly Line[]): string {
  const machine = {
    platform: platform(),
    arch: arch(),
    cores: availableParallelism(),
    node: process.version,
  };
  const results = lines.map((line) => ({ ...line, passed: meetsBar(line) }));
  return `${JSON.stringify({ machine, lines: results }, null, 2)}\n`;
}

function formatLine(line: Line): string[] {
  return [
    line.name,
    line.what,
    `${formatNumber(line.ours)} ${line.unit}`,
    line.baseline === undefined ? '' : `${formatNumber(line.baseline)} ${line.unit}`,
    line.ratio === undefined ? '' : line.ratio.toFixed(2),
    formatBar(line.bar),
    formatMs(line.p50Ms),
    formatMs(line.p99Ms),
    line.bar === undefined ? '' : meetsBar(line) ? 'ok' : 'MISSED',
  ];
}

function formatBar(bar: Bar | undefined): string {
  if (!bar) return '';
  return 'atLeast' in bar ? `>= ${bar.atLeast}` : `<= ${bar.atMost}`;
}

function formatMs(ms: number | undefined): string {
  return ms === undefined ? '' : `${ms.toFixed(ms < 10 ? 2 : 0)} ms`;
}

function formatNumber(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3);
}

function pad(cell: string, width: number, column: number): string {
  return column < TEXT_COLUMNS ? cell.padEnd(width) : cell.padStart(width);
}
