// Leads and sales that the page reports, with the publishable key of the workspace.
import { CLICK_COOKIE, type Cookies } from './cookies.ts';
import { type Post, succeeded } from './post.ts';

export type TrackConversion = (input: object) => Promise<unknown>;

export function createConversions(parts: {
  publishableKey: string | null;
  cookies: Cookies;
  post: Post;
  /** The click that a conversion belongs to may still be under way. */
  settled: () => Promise<unknown>;
}): { trackLead: TrackConversion; trackSale: TrackConversion } {
  const { publishableKey, cookies, post, settled } = parts;

  async function track(path: string, input: object): Promise<unknown> {
    if (!publishableKey) {
      console.error(`${path} needs a publishable key.`);
      return undefined;
    }
    await settled();
    const clickId = cookies.read(CLICK_COOKIE) ?? '';
    const { status, body } = await post(path, { clickId, ...input }, publishableKey);
    if (!succeeded(status))
      console.error((body as { error?: unknown } | null)?.error ?? `${path}: no answer`);
    return body;
  }

  return {
    trackLead: (input) => track('/track/lead/client', input),
    trackSale: (input) => track('/track/sale/client', input),
  };
}
