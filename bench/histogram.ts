// Latencies in buckets that grow by 2 %: fixed memory, quantiles to within 2 %.

const GROWTH_LOG = Math.log(1.02);
const BUCKETS = 1024;

export interface Histogram {
  add(ms: number): void;
  /** The latency in milliseconds that the given part (0 to 1) of all stays within; 0 without any. */
  quantileMs(part: number): number;
}

export function createHistogram(): Histogram {
  const counts = new Uint32Array(BUCKETS);
  let total = 0;
  return {
    add(ms) {
      const bucket = ms <= 0.001 ? 0 : Math.floor(Math.log(ms * 1000) / GROWTH_LOG);
      counts[Math.min(bucket, BUCKETS - 1)]! += 1;
      total += 1;
    },
    quantileMs(part) {
      if (total === 0) return 0;
      let left = Math.max(1, Math.ceil(total * part));
      const bucket = counts.findIndex((count) => {
        left -= count;
        return left <= 0;
      });
      return Math.exp((bucket + 0.5) * GROWTH_LOG) / 1000;
    },
  };
}
