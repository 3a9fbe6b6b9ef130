// What E2B clients send and receive about forks (docs/reference/e2b-api.md#forks).
import { z } from 'zod';
import { errorAnswer } from '../../errors/schema.ts';
import { sandboxAnswer } from '../answer/schemas.ts';

export const forkRequest = z
  .object({
    timeout: z
      .int()
      .nullish()
      .transform((given) => given ?? 15)
      .meta({ description: 'Seconds that each fork lives.' }),
    count: z
      .int()
      .nullish()
      .transform((given) => given ?? 1)
      .meta({ description: 'How many forks to make, 1 to 100.' }),
  })
  .meta({ id: 'ForkSandbox' });

/** One fork: the sandbox, or why there is none. */
export const forkEntry = z
  .object({ sandbox: sandboxAnswer.optional(), error: errorAnswer.optional() })
  .meta({ id: 'ForkedSandbox' });
