// Images as bytes: what they are, told by their content, and how they come in as data URLs. Nothing here
// decodes or changes a picture.
import { invalid } from '../kernel/errors.ts';

export const IMAGE_TYPES = {
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
} as const;

export type ImageKind = keyof typeof IMAGE_TYPES;

export const MAX_IMAGE_BYTES = 5 * 1024 * 1024;

const PREFIX = /^data:image\/(?:png|jpe?g|gif|webp);base64,/i;
const PREFIX_LIMIT = 40;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The kind of image by its first bytes; undefined when it is none of those we keep. */
export function imageKind(bytes: Uint8Array): ImageKind | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 16)).toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'png';
  if (head.startsWith('\xff\xd8\xff')) return 'jpg';
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'gif';
  if (head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP') return 'webp';
  return undefined;
}

export function isImageDataUrl(text: string): boolean {
  return PREFIX.test(text.slice(0, PREFIX_LIMIT));
}

/** The bytes of an image and its kind. What the text says about the kind does not count. */
export function readImage(dataUrl: string, field: string): { bytes: Buffer; kind: ImageKind } {
  const prefix = PREFIX.exec(dataUrl.slice(0, PREFIX_LIMIT))?.[0];
  if (!prefix) throw invalid(field, 'must be a base64 data URL of a PNG, JPEG, GIF or WebP image');
  const encoded = dataUrl.slice(prefix.length);
  if (encoded.length > Math.ceil(MAX_IMAGE_BYTES / 3) * 4) throw tooLarge(field);
  if (encoded.length % 4 === 1 || !BASE64.test(encoded)) throw invalid(field, 'must be valid base64');
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.length > MAX_IMAGE_BYTES) throw tooLarge(field);
  const kind = imageKind(bytes);
  if (!kind) throw invalid(field, 'must hold a PNG, JPEG, GIF or WebP image');
  return { bytes, kind };
}

function tooLarge(field: string) {
  return invalid(field, `must be an image of at most ${MAX_IMAGE_BYTES} bytes`);
}

/** Keeps an image given as a data URL and returns its address; refuses what is no image, naming the field. */
export type SaveImage = (dataUrl: string, field: string) => Promise<string>;
