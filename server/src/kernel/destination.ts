// Addresses that visitors are sent to: how typed text becomes an address, and which addresses are refused.
// Pure; the same rules for every field that holds a destination.
import { invalid } from './errors.ts';

/** Schemes that run code in, or read from, whatever shows the link. */
const REFUSED_SCHEMES = new Set(['javascript:', 'data:', 'vbscript:', 'file:', 'blob:']);

const CONTROL = /\p{Cc}/u;
/** `shop.example:8080/x`: URL parsers take the host for a scheme. */
const HOST_WITH_PORT = /^(?:localhost|[^\s:/?#@]+\.[^\s:/?#@]+):\d{1,5}(?:[/?#]|$)/i;
const WEB_SCHEME = /^https?:/i;
const WEB_ORIGIN = /^https?:\/\//i;

/**
 * An absolute address stays as it was typed; `example.com/x` gets `https://` and its normal form.
 * Undefined when it cannot be read as an address.
 */
export function completeUrl(text: string): string | undefined {
  if (HOST_WITH_PORT.test(text)) return hrefOf(`https://${text}`);
  const absolute = hrefOf(text);
  // `https:example.com` is absolute for the parser here, but relative for a browser on another https page.
  if (absolute !== undefined) return WEB_SCHEME.test(text) && !WEB_ORIGIN.test(text) ? absolute : text;
  return text.includes('.') && !text.includes(' ') ? hrefOf(`https://${text}`) : undefined;
}

/** Why an address may not be a destination; undefined when it may. */
export function refusedDestination(url: string): string | undefined {
  if (CONTROL.test(url)) return 'must not contain control characters';
  const parsed = URL.parse(url);
  if (!parsed) return 'must be an address such as https://example.com/page';
  if (REFUSED_SCHEMES.has(parsed.protocol)) return `must not be a ${parsed.protocol} address`;
  return undefined;
}

/** Completes and checks in one step; the error names the field. */
export function readDestination(path: string, text: string): string {
  const url = completeUrl(text) ?? '';
  // Completing drops some control characters, so that the typed text is looked at first.
  const refusal = CONTROL.test(text) ? refusedDestination(text) : refusedDestination(url);
  if (refusal !== undefined) throw invalid(path, refusal);
  return url;
}

function hrefOf(text: string): string | undefined {
  return URL.parse(text)?.href;
}
