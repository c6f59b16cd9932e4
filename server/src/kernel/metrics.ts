// What the process tells Prometheus about itself. Labels come from closed sets only, so that the number of
// series stays bounded.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  readonly request: (operation: string, status: number, durationMs: number) => void;
  readonly shed: () => void;
  readonly refusedConnection: (reason: string) => void;
  readonly job: (name: string, outcome: string, durationMs: number) => void;
  /** A value read when the metrics are asked for. */
  readonly gauge: (name: string, help: string, read: () => number) => void;
  /** The same with one label of a closed set. */
  readonly gauges: <T extends string>(family: GaugeFamily<T>) => void;
  /** A counter with one label of a closed set; counting costs no more than an addition. */
  readonly counts: <T extends string>(
    name: string,
    help: string,
    label: string,
    values: readonly T[],
  ) => (value: T) => void;
  readonly contentType: string;
  text(): Promise<string>;
}

export interface GaugeFamily<T extends string> {
  readonly name: string;
  readonly help: string;
  readonly label: string;
  readonly values: readonly T[];
  readonly read: (value: T) => number;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const requests = new Histogram({
    name: 'linktrail_request_duration_seconds',
    help: 'API requests by operation and status.',
    labelNames: ['operation', 'status'],
    buckets: SECONDS,
    registers,
  });
  const shed = new Counter({
    name: 'linktrail_requests_shed_total',
    help: 'API requests refused because too many were under way.',
    registers,
  });
  const refused = new Counter({
    name: 'linktrail_connections_refused_total',
    help: 'Connections closed by a cap or a time-out.',
    labelNames: ['reason'],
    registers,
  });
  const jobs = new Histogram({
    name: 'linktrail_job_duration_seconds',
    help: 'Runs of background jobs by outcome.',
    labelNames: ['job', 'outcome'],
    buckets: [0.01, 0.1, 1, 10, 60, 600],
    registers,
  });
  return {
    request: (operation, status, durationMs) =>
      requests.observe({ operation, status: String(status) }, durationMs / 1000),
    shed: () => shed.inc(),
    refusedConnection: (reason) => refused.inc({ reason }),
    job: (job, outcome, durationMs) => jobs.observe({ job, outcome }, durationMs / 1000),
    gauge(name, help, read) {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read());
        },
      });
    },
    gauges({ name, help, label, values, read }) {
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers,
        collect() {
          for (const value of values) this.set({ [label]: value }, read(value));
        },
      });
    },
    counts(name, help, label, values) {
      const totals = new Map(values.map((value) => [value, 0]));
      new Counter({
        name,
        help,
        labelNames: [label],
        registers,
        collect() {
          this.reset();
          for (const [value, total] of totals) this.inc({ [label]: value }, total);
        },
      });
      return (value) => totals.set(value, (totals.get(value) ?? 0) + 1);
    },
    contentType: registry.contentType,
    text: () => registry.metrics(),
  };
}
