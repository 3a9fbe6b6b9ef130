// What E2B clients ask and receive about events (docs/reference/e2b-api.md#events).
import { sandboxEventTypes } from '@sandlot/team-events';
import { z } from 'zod';
import { shownAs } from '../../openapi/shown-as.ts';

/** Events that a page may begin behind. */
const MAX_OFFSET = 10_000;

export const eventParams = z.object({ sandboxID: z.string().min(1).max(256) });

export const eventQuery = z.object({
  offset: z.coerce.number().int().min(0).max(MAX_OFFSET).default(0),
  limit: z.coerce.number().int().min(1).max(100).default(10),
  orderAsc: z
    .stringbool()
    .default(false)
    .meta({ override: shownAs({ type: 'boolean' }), description: 'The oldest event first.' }),
  types: z
    .string()
    .transform((given) => given.split(','))
    .pipe(z.array(z.enum(sandboxEventTypes)).max(sandboxEventTypes.length))
    .optional()
    .meta({
      override: shownAs({ type: 'array', items: { type: 'string', enum: sandboxEventTypes } }),
      description: 'Types to list; default all.',
    }),
});
export type EventQuery = z.output<typeof eventQuery>;

export const eventAnswer = z
  .object({
    id: z.uuid(),
    version: z.string(),
    type: z.enum(sandboxEventTypes),
    eventCategory: z.string(),
    eventLabel: z.string(),
    timestamp: z.iso.datetime({ offset: true }),
    eventData: z.record(z.string(), z.unknown()).nullable(),
    sandboxId: z.string(),
    sandboxExecutionId: z.uuid(),
    sandboxTemplateId: z.string(),
    sandboxBuildId: z.uuid(),
    sandboxTeamId: z.uuid(),
  })
  .meta({ id: 'SandboxEvent' });
