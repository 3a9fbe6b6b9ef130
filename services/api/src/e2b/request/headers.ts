// Headers of E2B requests that an operation reads. The HTTP layer parses them by these schemas.
import { z } from 'zod';
import { parseRetention, RETENTION_EXPECTED } from './retention.ts';

export const createHeaders = z.object({
  'Idempotency-Key': z
    .string()
    .regex(/^[a-z0-9-]{1,255}$/, 'expected 1 to 255 of a-z, 0-9 and -')
    .optional()
    .meta({
      description: 'The same key with the same body answers the first sandbox again.',
    }),
});

/** OpenKruise's header of a pause (docs/reference/e2b-api.md#extension-keys). The OpenAPI document does not list it. */
export const pauseHeaders = z.object({
  'x-e2b-kruise-reserve-paused-sandbox-duration': z
    .string()
    .transform((text, context) => {
      const retention = parseRetention(text);
      if (retention !== undefined) return retention;
      context.addIssue({ code: 'custom', message: `${RETENTION_EXPECTED}, got "${text}"` });
      return z.NEVER;
    })
    .optional(),
});
