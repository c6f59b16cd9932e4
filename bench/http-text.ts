// Writes one HTTP/1.1 request as text, for the load client.

export interface RequestParts {
  method: string;
  path: string;
  host?: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: unknown;
}

export function httpText({ method, path, host = 'localhost', headers = {}, body }: RequestParts): string {
  const content = body === undefined ? '' : JSON.stringify(body);
  const all: Record<string, string> = { host, ...headers };
  if (body !== undefined) {
    all['content-type'] = 'application/json';
    all['content-length'] = String(Buffer.byteLength(content));
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${content}`;
}
