// Discount codes over HTTP.
import { z } from 'zod';
import { deletedId, type Operation, operation } from '../http/operation.ts';
import { listQuery } from '../http/pagination.ts';
import { CODE_ID_PREFIX, MAX_CODE_LENGTH, presentCode } from './discount-code.ts';
import type { DiscountCodes } from './discount-codes.ts';
import { ANYBODY, EDITORS } from './partner-fields.ts';

const codeSchema = z
  .object({
    id: z.string(),
    code: z.string(),
    discountId: z.string().nullable().describe('Null: the code is reserved and worth nothing.'),
    partnerId: z.string(),
    linkId: z.string().describe('The link that sales with this code belong to.'),
    disabledAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'DiscountCode', description: 'A code that customers of a partner pay less with.' });

const { page, pageSize } = listQuery({ sortBy: ['createdAt'] });

export function discountCodeOperations({ discountCodes }: { discountCodes: DiscountCodes }): Operation[] {
  return [
    operation({
      id: 'listDiscountCodes',
      method: 'GET',
      path: '/discount-codes',
      group: 'Discount codes',
      summary: 'List discount codes',
      description: 'The newest first.',
      access: ANYBODY,
      query: z.object({
        partnerId: z.string().min(1).optional().describe('Only codes of this partner.'),
        discountId: z.string().min(1).optional().describe('Only codes of this discount.'),
        page,
        pageSize,
      }),
      response: { status: 200, description: 'The codes.', schema: z.array(codeSchema) },
      run: async ({ query }, actor) => (await discountCodes.list(actor, query, query)).map(presentCode),
    }),
    operation({
      id: 'createDiscountCode',
      method: 'POST',
      path: '/discount-codes',
      group: 'Discount codes',
      summary: 'Create a discount code for a link of a partner',
      description: 'The code is worth what the partner’s group gives. A link has at most one.',
      access: EDITORS,
      body: z.object({
        partnerId: z.string().min(1),
        linkId: z.string().min(1).describe('A link of the partner.'),
        code: z
          .string()
          .trim()
          .max(MAX_CODE_LENGTH)
          .regex(/^[A-Za-z0-9_-]*$/, 'may have letters, digits, - and _')
          .optional()
          .describe('One of a kind in the program, whatever its case; made up if absent or empty.'),
      }),
      response: { status: 200, description: 'The new code.', schema: codeSchema },
      run: async ({ body }, actor) => presentCode(await discountCodes.create(actor, body)),
    }),
    operation({
      id: 'deleteDiscountCode',
      method: 'DELETE',
      path: '/discount-codes/{idOrCode}',
      group: 'Discount codes',
      summary: 'Delete a discount code',
      access: EDITORS,
      params: z.object({
        idOrCode: z
          .string()
          .min(1)
          .describe(`The id, which begins with ${CODE_ID_PREFIX}, or the code itself.`),
      }),
      response: { status: 200, description: 'The code is gone.', schema: deletedId },
      run: async ({ params }, actor) => ({ id: (await discountCodes.delete(actor, params.idOrCode)).id }),
    }),
  ];
}
