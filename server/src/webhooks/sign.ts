// Signatures of messages, in both schemes that receivers know: Dub-Signature over the body alone, and Standard
// Webhooks over id, time and body, with every secret that is valid.
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { hmacSha256Hex } from '../kernel/ids.ts';

export interface Unsigned {
  readonly id: string;
  readonly body: string;
  /** When it is sent. */
  readonly atMs: number;
  /** The present one first. */
  readonly secrets: readonly string[];
}

export function signatureHeaders({ id, body, atMs, secrets }: Unsigned): Record<string, string> {
  const [current = ''] = secrets;
  return {
    // The key is the whole text of the secret, prefix included.
    'Dub-Signature': hmacSha256Hex(current, body),
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(atMs / 1_000)),
    'webhook-signature': secrets.map((secret) => signer(secret).sign(id, new Date(atMs), body)).join(' '),
  };
}

/** The key is what the text after the prefix stands for in base64; imported secrets may be other text. */
function signer(secret: string): StandardWebhook {
  try {
    return new StandardWebhook(secret);
  } catch {
    return new StandardWebhook(secret, { format: 'raw' });
  }
}
