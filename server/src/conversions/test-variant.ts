// Which of the destinations under test a visitor was sent to. The address of a click has more in its query than the
// destination: the click's id, and what the visit brought along.
import type { TestVariant } from '../links/link.ts';

/** The variant's address as the link has it; the click's own where it fits none. */
export function destinationOf(clickUrl: string, variants: readonly TestVariant[] | null): string {
  const url = variants ? URL.parse(clickUrl) : null;
  if (!variants || !url) return clickUrl;
  const fitting = variants
    .map((variant) => ({ address: variant.url, alike: likeness(URL.parse(variant.url), url) }))
    .filter(({ alike }) => alike >= 0);
  // Variants may differ in their query alone; the visit can have replaced one of its values.
  return fitting.sort((a, b) => b.alike - a.alike)[0]?.address ?? clickUrl;
}

/** How many parameters of the variant the address has; negative when it is another page. */
function likeness(variant: URL | null, url: URL): number {
  if (!variant || variant.origin !== url.origin || variant.pathname !== url.pathname) return -1;
  return [...variant.searchParams].filter(([name, value]) => url.searchParams.get(name) === value).length;
}
