import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEnrich, type Step } from './enrich.ts';

interface Visit {
  n: number;
  trace: string[];
}

const decode = (payload: Uint8Array) =>
  payload[0] === 0 ? { failure: 'malformed' as const } : { event: { n: payload[0] ?? 0, trace: [] } };

function step(name: string, drops: (n: number) => boolean = () => false): Step<Visit> {
  return {
    name,
    run: (visit) => (drops(visit.n) ? { drop: 'robot' } : { ...visit, trace: [...visit.trace, name] }),
  };
}

test('steps run in order on what the step before gave, and each is timed once per batch', () => {
  const timed: [string, number][] = [];
  const enrich = createEnrich<Visit>({
    decode,
    steps: [step('one'), step('two', (n) => n === 2), step('three')],
    onStep: (name, durationMs, events) => {
      assert.ok(durationMs >= 0);
      timed.push([name, events]);
    },
    onError: assert.fail,
  });
  const { events, drops } = enrich([1, 2, 3].map((n) => Uint8Array.of(n)));
  const trace = ['one', 'two', 'three'];
  assert.deepEqual(events, [
    { n: 1, trace },
    { n: 3, trace },
  ]);
  assert.deepEqual([...drops], [['robot', 1]]);
  assert.deepEqual(timed, [
    ['decode', 3],
    ['one', 3],
    ['two', 3],
    ['three', 2],
  ]);
});

test('what cannot be decoded and what makes a step throw is dropped by name; the rest goes on', () => {
  const errors: string[] = [];
  const broken: Step<Visit> = {
    name: 'broken',
    run(visit) {
      if (visit.n === 3) throw new Error('no such place');
      return visit;
    },
  };
  const enrich = createEnrich<Visit>({
    decode,
    steps: [broken],
    onError: (name, error) => errors.push(`${name}: ${(error as Error).message}`),
  });
  const { events, drops } = enrich([0, 1, 3, 0, 5].map((n) => Uint8Array.of(n)));
  assert.deepEqual(
    events.map(({ n }) => n),
    [1, 5],
  );
  assert.deepEqual(Object.fromEntries(drops), { malformed: 2, failed: 1 });
  assert.deepEqual(errors, ['broken: no such place']);
});
