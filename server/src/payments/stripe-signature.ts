// The signature that Stripe puts on what it sends: a time and one or more HMACs over the time and the raw body.
import { hmacSha256Hex, sameSecret } from '../kernel/ids.ts';

/** How old a signed message may be: older ones may be replays. */
const TOLERANCE_MS = 300_000;

export type SignatureFault = 'malformed' | 'wrong' | 'old';

/** Undefined when the signature is right. */
export function stripeSignatureFault(
  header: string | undefined,
  body: Uint8Array,
  secret: string,
  nowMs: number,
): SignatureFault | undefined {
  const parts = (header ?? '').split(',').map((part) => part.trim().split('='));
  const valuesOf = (name: string) => parts.flatMap(([key, value]) => (key === name && value ? [value] : []));
  const [time] = valuesOf('t');
  const signatures = valuesOf('v1');
  if (time === undefined || !/^\d{1,12}$/.test(time) || signatures.length === 0) return 'malformed';
  const expected = hmacSha256Hex(secret, Buffer.concat([Buffer.from(`${time}.`), body]));
  if (!signatures.some((signature) => sameSecret(signature, expected))) return 'wrong';
  return Math.abs(nowMs - Number(time) * 1000) > TOLERANCE_MS ? 'old' : undefined;
}
