// QR codes over HTTP.
import { z } from 'zod';
import { type Operation, operation, repliesWith } from '../http/operation.ts';
import { sha256Hex } from '../kernel/ids.ts';
import type { QrCodes } from './qr-codes.ts';
import { QR_LEVELS } from './qr-matrix.ts';

const color = (what: string, fallback: string) =>
  z
    .string()
    .regex(/^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/i, 'must be a colour such as #112233')
    .default(fallback)
    .describe(`The colour of the ${what}, as #rgb or #rrggbb. In an address, write the hash as %23.`);

const QUERY = z.object({
  url: z
    .string()
    .min(1)
    .max(32_000)
    .describe('The address to encode, as it is. https:// is added where no scheme is given.'),
  size: z.int().min(16).max(2_000).default(600).describe('Width and height in pixels.'),
  level: z
    .enum(QR_LEVELS)
    .default('L')
    .describe('How much damage the code survives. With a logo, L and M are raised to Q.'),
  fgColor: color('dark squares', '#000000'),
  bgColor: color('light squares', '#FFFFFF'),
  margin: z
    .int()
    .min(0)
    .max(50)
    .default(2)
    .describe('The quiet zone around the code, in squares; part of the size.'),
  includeMargin: z.boolean().default(true).describe('Has no effect; kept for older clients. Use margin.'),
  hideLogo: z.boolean().default(false).describe('No logo. For short links of paid workspaces.'),
  logo: z
    .string()
    .max(32_000)
    .optional()
    .describe(
      'The address of another logo, https or a stored file. For short links of paid workspaces. PNG output takes PNG logos of up to 1024 × 1024 pixels; SVG output takes PNG, JPEG, GIF, WebP and SVG. One that cannot be had within 3 s and 2 MB is left out.',
    ),
  format: z.enum(['png', 'svg']).default('png').describe('The kind of image.'),
});

export function qrOperations({ qrCodes }: { qrCodes: QrCodes }): Operation[] {
  return [
    operation({
      id: 'getQRCode',
      method: 'GET',
      path: '/qr',
      group: 'QR codes',
      summary: 'Draw a QR code',
      description:
        'A logo is drawn in the middle: the one asked for, else that of the domain or the workspace, else the mark of the service. It is left out when the address would not fit beside it.',
      access: { by: 'nobody' },
      cors: 'GET',
      throttle: { limit: 10, windowMs: 10_000, by: 'ip' },
      query: QUERY,
      response: { status: 200, description: 'The image.', ...repliesWith('image/png', 'image/svg+xml') },
      run: async ({ query }) => {
        const { contentType, body } = await qrCodes.draw({ ...query, logo: query.logo || undefined });
        return {
          contentType,
          body,
          headers: {
            'Cache-Control': 'public, max-age=3600',
            'Content-Security-Policy':
              "default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox",
            ETag: `"${sha256Hex(body)}"`,
          },
        };
      },
    }),
  ];
}
