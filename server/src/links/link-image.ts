// The preview image of a link: what may be given, and what is kept of it.
import type { SaveImage } from '../files/image.ts';
import { AppError, invalid } from '../kernel/errors.ts';
import { MAX_URL_LENGTH } from './link.ts';
import type { LinkDraft } from './link-draft.ts';

/** The draft with the image in the form it is kept in; not inside a transaction, for it may write a file. */
export async function withStoredImage(draft: LinkDraft, saveImage: SaveImage): Promise<LinkDraft> {
  const { image } = draft;
  if (!image) return image === '' ? { ...draft, image: null } : draft;
  return { ...draft, image: image.startsWith('data:') ? await saveImage(image, 'image') : webImage(image) };
}

/** In a call on many links, previews of their own need images that are on the web already. */
export async function withBulkImage(draft: LinkDraft, saveImage: SaveImage): Promise<LinkDraft | AppError> {
  try {
    if (draft.proxy && draft.image && !/^https:/i.test(draft.image)) {
      throw invalid('image', 'must be an https address when many links with proxy are made at once');
    }
    return await withStoredImage(draft, saveImage);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

/** Text that is no web address is dropped; an address must have a host that others can reach. */
function webImage(text: string): string | null {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) return null;
  if (text.length > MAX_URL_LENGTH) throw invalid('image', `must have at most ${MAX_URL_LENGTH} characters`);
  if (!/^([a-z0-9-]+\.)+[a-z][a-z0-9-]*$/i.test(url.hostname)) {
    throw invalid('image', 'must be on a public host such as images.example.com');
  }
  return text;
}
