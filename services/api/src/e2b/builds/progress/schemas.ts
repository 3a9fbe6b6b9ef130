// What E2B clients ask and receive about a build (docs/reference/e2b-api.md#template-builds).
import { logLevels } from '@sandlot/template-build';
import { z } from 'zod';
import { shownAs } from '../../../openapi/shown-as.ts';
import { count } from '../request/schemas.ts';

const level = z.enum(logLevels).default('debug').meta({ description: 'The least level.' });
const MOST_OFFSET = 1_000_000;
const MOST_ENTRIES = 100;

export const statusQuery = z.object({
  logsOffset: count(MOST_OFFSET, 0).meta({ description: 'Entries of that level that the client has.' }),
  limit: count(MOST_ENTRIES, MOST_ENTRIES, 1),
  level,
});
export type StatusQuery = z.output<typeof statusQuery>;

export const logsQuery = z.object({
  cursor: z
    .string()
    .regex(/^\d{1,15}$/, 'expected whole milliseconds')
    .transform(Number)
    .optional()
    .meta({ override: shownAs({ type: 'integer', minimum: 0 }), description: 'Milliseconds since 1970.' }),
  limit: count(MOST_ENTRIES, MOST_ENTRIES, 1),
  direction: z.enum(['forward', 'backward']).default('forward'),
  level,
  source: z.enum(['temporary', 'persistent']).optional().meta({ description: 'There is one log, whatever it says.' }),
});
export type LogsQuery = z.output<typeof logsQuery>;

const logEntry = z
  .object({ timestamp: z.string(), message: z.string(), level: z.enum(logLevels), step: z.string().optional() })
  .meta({ id: 'BuildLogEntry' });

export const buildStatus = z.enum(['waiting', 'building', 'ready', 'error']);
export type BuildStatus = z.output<typeof buildStatus>;

export const buildInfo = z
  .object({
    templateID: z.string(),
    buildID: z.uuid(),
    status: buildStatus,
    logs: z.array(z.string()).meta({ description: 'Empty.' }),
    logEntries: z.array(logEntry),
    reason: z
      .object({ message: z.string(), step: z.string().optional(), logEntries: z.array(logEntry) })
      .optional()
      .meta({ description: 'Why it failed.' }),
  })
  .meta({ id: 'TemplateBuildInfo' });
export type BuildInfo = z.output<typeof buildInfo>;

export const buildLogs = z.object({ logs: z.array(logEntry) });
