// How far a long command has come, on standard error: one line that is drawn over and over on a terminal, a
// new line every few seconds elsewhere. Tells the rate and the time that is left.
import type { ProgressState } from './command.ts';

export interface Progress {
  show(state: ProgressState): void;
  /** Leaves the place to other output. */
  end(): void;
}

export interface ProgressParts {
  readonly write: (text: string) => void;
  readonly isTerminal: boolean;
  readonly nowMs: () => number;
  /** How much of the input is read, where that is known: from 0 to 1. */
  readonly fraction?: (() => number | undefined) | undefined;
}

const REDRAW_MS = 100;
const LINE_EVERY_MS = 5_000;
const BAR_WIDTH = 20;
const CLEAR_LINE = '\r\x1b[K';

export function createProgress({ write, isTerminal, nowMs, fraction }: ProgressParts): Progress {
  const startMs = nowMs();
  let shownMs = isTerminal ? Number.NEGATIVE_INFINITY : startMs;
  let drawn = false;

  return {
    show(state) {
      const now = nowMs();
      if (now - shownMs < (isTerminal ? REDRAW_MS : LINE_EVERY_MS)) return;
      shownMs = now;
      const share = fraction?.() ?? (state.total ? state.done / state.total : undefined);
      const text = describeProgress(state, share, now - startMs);
      write(isTerminal ? `${CLEAR_LINE}${share === undefined ? '' : `${bar(share)} `}${text}` : `${text}\n`);
      drawn = isTerminal;
    },
    end() {
      if (drawn) write(CLEAR_LINE);
      drawn = false;
    },
  };
}

export function describeProgress(state: ProgressState, share: number | undefined, elapsedMs: number): string {
  const { done, total, unit, note, before = 0 } = state;
  const seconds = elapsedMs / 1_000;
  const rate = seconds > 0 ? Math.round((done - before) / seconds) : 0;
  const shareBefore = total ? before / total : 0;
  const left = share && share > shareBefore ? (seconds * (1 - share)) / (share - shareBefore) : undefined;
  return [
    share === undefined ? '' : `${Math.min(100, Math.floor(share * 100))} %`,
    `${number(done)}${total === undefined ? '' : ` of ${number(total)}`} ${unit}`,
    rate > 0 ? `${number(rate)}/s` : '',
    left === undefined ? '' : `${duration(left)} left`,
    note ?? '',
  ]
    .filter((part) => part !== '')
    .join(', ');
}

function bar(share: number): string {
  const full = Math.round(Math.min(1, share) * BAR_WIDTH);
  return `[${'#'.repeat(full)}${'.'.repeat(BAR_WIDTH - full)}]`;
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}

function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  return minutes < 60
    ? `${minutes} min ${whole % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
