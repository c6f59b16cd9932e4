// The page behind every doc_url: one section per code, what it means and what to do about it.
import { ERROR_STATUS, type ErrorCode } from '../kernel/errors.ts';

export const ERROR_MEANING: Record<ErrorCode, { what: string; remedy: string }> = {
  bad_request: {
    what: 'The request cannot be read: the body is not JSON, a required value is missing, or a value has the wrong JSON type.',
    remedy: 'The message names the first field that does not fit. Correct it and send the request again.',
  },
  unauthorized: {
    what: 'No valid API key came with the request: it is missing, unknown, revoked or expired.',
    remedy:
      'Send the header “Authorization: Bearer <key>”. Keys are made with “npx linktrail key create” or POST /tokens.',
  },
  forbidden: {
    what: 'The key is valid, but may not do this: its scopes, its role, the plan or a limit of the workspace, or a resource of another workspace stands in the way. Plain HTTP from another machine is refused this way too.',
    remedy:
      'The message says what is missing. Use another key, or have an owner change scopes, plan or limits.',
  },
  not_found: {
    what: 'There is nothing at this address, or no resource has this id. A known address with a wrong method answers this too; the Allow header lists the right ones.',
    remedy: 'Check the path, the method and the id.',
  },
  conflict: {
    what: 'Another resource already has this name, key or id, or a request with the same Idempotency-Key stands in the way.',
    remedy: 'Choose another name, or update what is there.',
  },
  invite_expired: {
    what: 'The invitation is no longer valid.',
    remedy: 'Ask an owner of the workspace for a new one.',
  },
  unprocessable_entity: {
    what: 'The request can be read, but a value is not allowed: out of range, not in the list, badly formed, too large, or against a rule.',
    remedy: 'The message has the form “kind: field: reason” and names the first offending field.',
  },
  rate_limit_exceeded: {
    what: 'Too many requests in the current window of the key or the address, or more at once than the server takes.',
    remedy:
      'Wait for the seconds in the Retry-After header. X-RateLimit-Limit, -Remaining and -Reset come with every answer to a valid key.',
  },
  internal_server_error: {
    what: 'Something failed on the server. Nothing of the request was kept.',
    remedy:
      'Try again; with an Idempotency-Key a repeat is safe. The log has details under the X-Request-Id of the answer.',
  },
};

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin:2rem 0 .25rem}code{font:14px ui-monospace,monospace;background:#f2f2f2;padding:.1em .3em;border-radius:3px}
section:target{outline:2px solid #2457d6;outline-offset:.75rem;border-radius:4px}
@media(prefers-color-scheme:dark){body{background:#141414;color:#e6e6e6}code{background:#2a2a2a}}`;

export function errorPage(): string {
  const sections = (Object.keys(ERROR_STATUS) as ErrorCode[]).map((code) => {
    const { what, remedy } = ERROR_MEANING[code];
    const id = code.replaceAll('_', '-');
    return `<section id="${id}"><h2><code>${code}</code> · ${ERROR_STATUS[code]}</h2><p>${escapeHtml(what)}</p><p>${escapeHtml(remedy)}</p></section>`;
  });
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>Linktrail API errors</title><style>${STYLE}</style></head><body><main><h1>Errors of the Linktrail API</h1><p>Every failed request is answered with <code>{"error":{"code","message","doc_url"}}</code> and one of these nine codes.</p>${sections.join('')}</main></body></html>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
