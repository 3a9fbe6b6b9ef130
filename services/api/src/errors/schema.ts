import { z } from 'zod';

/** The body of every error answer. */
export const errorAnswer = z
  .object({ code: z.int(), message: z.string(), error_code: z.string().optional() })
  .meta({ id: 'Error' });
