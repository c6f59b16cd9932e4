// Stored images over HTTP.
import { z } from 'zod';
import { type Operation, operation, repliesWith } from '../http/operation.ts';
import { AppError } from '../kernel/errors.ts';
import type { Files } from './files.ts';
import { IMAGE_TYPES } from './image.ts';

export function fileOperations({ files }: { files: Files }): Operation[] {
  return [
    operation({
      id: 'getFile',
      method: 'GET',
      path: '/files/{name}',
      group: 'Files',
      summary: 'Get a stored image',
      description: 'Images that were handed in with a link, a domain or a profile. They never change.',
      access: { by: 'nobody' },
      cors: 'GET',
      params: z.object({
        name: z.string().describe('The name of the file, as in the address that was given out.'),
      }),
      response: { status: 200, description: 'The image.', ...repliesWith(...Object.values(IMAGE_TYPES)) },
      run: async ({ params }) => {
        const file = await files.find(params.name);
        if (!file) throw new AppError('not_found', 'There is no such file.');
        return {
          contentType: file.contentType,
          body: file.body,
          headers: {
            'Cache-Control': 'public, max-age=31536000, immutable',
            'Content-Length': String(file.sizeBytes),
            'Content-Security-Policy': "default-src 'none'; sandbox",
            ETag: file.etag,
          },
        };
      },
    }),
  ];
}
