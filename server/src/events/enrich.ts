// Turns raw records into what the sinks store: decode, then a named list of pure steps. A record stops at its
// first drop, whose reason comes from one closed list; nothing a record contains can stop the pipeline.
import type { DecodeFailure } from './event.ts';

export const DROP_REASONS = [
  'unknown_version',
  'unknown_kind',
  'malformed',
  /** A step threw: a fault of ours, logged with the step's name. */
  'failed',
  'robot',
  'excluded',
] as const;
export type DropReason = (typeof DROP_REASONS)[number];

export interface Drop {
  readonly drop: DropReason;
}

/** Pure: the same event gives the same result, however often it is replayed. */
export interface Step<E> {
  readonly name: string;
  run(event: E): E | Drop;
}

export type Drops = ReadonlyMap<DropReason, number>;

export interface Enriched<E> {
  readonly events: readonly E[];
  readonly drops: Drops;
}

export interface EnrichOptions<E extends object> {
  decode(payload: Uint8Array): { event: E } | { failure: DecodeFailure };
  steps: readonly Step<E>[];
  /** Called once per step and batch. */
  onStep?: (name: string, durationMs: number, events: number) => void;
  onError: (step: string, error: unknown) => void;
}

export type Enrich<E> = (payloads: readonly Uint8Array[]) => Enriched<E>;

export function createEnrich<E extends object>(options: EnrichOptions<E>): Enrich<E> {
  const decode: Step<Uint8Array | E> = {
    name: 'decode',
    run(payload) {
      const decoded = options.decode(payload as Uint8Array);
      return 'failure' in decoded ? { drop: decoded.failure } : decoded.event;
    },
  };
  return (payloads) => {
    const drops = new Map<DropReason, number>();
    let events = runStep<Uint8Array | E>(decode, payloads, drops, options) as E[];
    // Step by step over the whole batch, so that timing costs two clock readings per step, not per event.
    for (const step of options.steps) events = runStep(step, events, drops, options);
    return { events, drops };
  };
}

function runStep<E extends object>(
  step: Step<E>,
  events: readonly E[],
  drops: Map<DropReason, number>,
  { onStep, onError }: Pick<EnrichOptions<E>, 'onStep' | 'onError'>,
): E[] {
  const startMs = performance.now();
  const kept: E[] = [];
  for (const event of events) {
    const result = tryStep(step, event, onError);
    if (isDrop(result)) drops.set(result.drop, (drops.get(result.drop) ?? 0) + 1);
    else kept.push(result);
  }
  onStep?.(step.name, performance.now() - startMs, events.length);
  return kept;
}

function tryStep<E>(step: Step<E>, event: E, onError: (step: string, error: unknown) => void): E | Drop {
  try {
    return step.run(event);
  } catch (error) {
    onError(step.name, error);
    return { drop: 'failed' };
  }
}

function isDrop<E extends object>(result: E | Drop): result is Drop {
  return 'drop' in result;
}
