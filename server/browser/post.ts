// Requests to the API. They go on when the visitor leaves the page, and never throw.

export interface Answer {
  /** 0 when there was none. */
  readonly status: number;
  readonly body: unknown;
}

export type Post = (path: string, body: object, key?: string) => Promise<Answer>;

export function createPost(apiHost: string): Post {
  return async (path, body, key) => {
    try {
      const response = await fetch(`${apiHost}${path}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...(key && { Authorization: `Bearer ${key}` }) },
        body: JSON.stringify(body),
        keepalive: true,
      });
      return { status: response.status, body: await response.json().catch(() => null) };
    } catch {
      return { status: 0, body: null };
    }
  };
}

export const succeeded = (status: number) => status >= 200 && status < 300;
