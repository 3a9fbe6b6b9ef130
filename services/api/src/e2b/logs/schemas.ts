// What E2B clients send and receive about logs (docs/reference/e2b-api.md#logs).
import { z } from 'zod';
import { shownAs } from '../../openapi/shown-as.ts';
import { levels } from './lines.ts';

const MAX_LINES = 1_000;

const limit = z
  .string()
  .regex(/^\d{1,4}$/, `expected a whole number from 0 to ${MAX_LINES}`)
  .transform(Number)
  .pipe(z.int().min(0).max(MAX_LINES))
  .default(MAX_LINES)
  .meta({ override: shownAs({ type: 'integer', minimum: 0, maximum: MAX_LINES }) });

function timeParameter(description: string) {
  return z
    .string()
    .regex(/^\d{1,13}$/, 'expected whole Unix milliseconds')
    .transform(Number)
    .optional()
    .meta({ override: shownAs({ type: 'integer', minimum: 0, maximum: 9_999_999_999_999 }), description });
}

export const logQuery = z.object({
  start: timeParameter('Unix milliseconds of the first line; absent: a week ago.'),
  limit,
});

export const logQueryV2 = z.object({
  cursor: timeParameter('Unix milliseconds: lines from here on, or with direction backward before here.'),
  limit,
  direction: z.enum(['forward', 'backward']).default('backward'),
  level: z.enum(levels).default('debug').meta({ description: 'The least level.' }),
  search: z.string().max(256).default('').meta({ description: 'What the message contains.' }),
});

const timestamp = z.iso.datetime({ offset: true });
const entry = z
  .object({
    timestamp,
    message: z.string(),
    level: z.enum(levels),
    fields: z.record(z.string(), z.string()),
  })
  .meta({ id: 'SandboxLogEntry' });
export type LogEntry = z.output<typeof entry>;

export const logsAnswer = z
  .object({
    logs: z.array(
      z.object({ timestamp, line: z.string().meta({ description: 'JSON with level, message and logger.' }) }),
    ),
    logEntries: z.array(entry),
  })
  .meta({ id: 'SandboxLogs' });

export const logsAnswerV2 = z.object({ logs: z.array(entry) }).meta({ id: 'SandboxLogsV2' });
