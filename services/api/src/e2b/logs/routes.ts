import type { Clock } from '@sandlot/std';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import { formatIsoTime } from '../answer/sandbox.ts';
import { findOwnSandbox } from '../operations/find-sandbox.ts';
import type { FindDeps } from '../operations/find-sandbox.ts';
import { oneSandbox } from '../operations/shape.ts';
import type { LogLine } from './lines.ts';
import { PodLogs } from './pod-logs.ts';
import type { PodLogsDeps } from './pod-logs.ts';
import { logQuery, logQueryV2, logsAnswer, logsAnswerV2 } from './schemas.ts';
import type { LogEntry } from './schemas.ts';

export interface LogDeps extends FindDeps, PodLogsDeps {
  readonly clock: Pick<Clock, 'now'>;
}

const WEEK_MS = 7 * 86_400_000;
/** What stdout and stderr of the container are called; the node does not tell the two apart. */
const LOGGER = 'container';
const LEVEL = 'info';
const LEAST_LEVELS: ReadonlySet<string> = new Set(['debug', LEVEL]);

export function buildLogRoutes(deps: LogDeps): readonly Route[] {
  const logs = new PodLogs(deps);
  return [buildLogRoute(deps, logs), buildLogRouteV2(deps, logs)];
}

function buildLogRoute(deps: LogDeps, logs: PodLogs): Route {
  return route(
    {
      ...endpoint('getSandboxLogs', 'get /sandboxes/{sandboxID}/logs', 'Reads the log of a sandbox from a time on.'),
      ...oneSandbox,
      query: logQuery,
      answers: { 200: { description: 'The lines, the oldest first.', schema: logsAnswer } },
    },
    async ({ key, params, query: { start, limit }, signal }) => {
      const claimed = await findOwnSandbox(deps, key, params.sandboxID);
      const from = start ?? deps.clock.now() - WEEK_MS;
      const isWanted = (): boolean => true;
      const entries = (await logs.read(claimed, { from, direction: 'forward', limit, isWanted, signal })).map(
        buildEntry,
      );
      const shown = entries.map(({ timestamp, message, level }) => ({
        timestamp,
        // The CLI parses it, and calls a method of the level.
        line: JSON.stringify({ level, message, logger: LOGGER }),
      }));
      return { status: 200, body: { logs: shown, logEntries: entries } };
    },
  );
}

function buildLogRouteV2(deps: LogDeps, logs: PodLogs): Route {
  return route(
    {
      ...endpoint(
        'getSandboxLogsV2',
        'get /v2/sandboxes/{sandboxID}/logs',
        'Reads the log of a sandbox from a time on, or back from it.',
      ),
      ...oneSandbox,
      query: logQueryV2,
      answers: { 200: { description: 'The lines, in the direction of the query.', schema: logsAnswerV2 } },
    },
    async ({ key, params, query: { cursor, limit, direction, level, search }, signal }) => {
      const claimed = await findOwnSandbox(deps, key, params.sandboxID);
      const isWanted = ({ message }: LogLine): boolean => LEAST_LEVELS.has(level) && message.includes(search);
      const from = cursor ?? (direction === 'forward' ? deps.clock.now() - WEEK_MS : undefined);
      const lines = await logs.read(claimed, { from, direction, limit, isWanted, signal });
      return { status: 200, body: { logs: lines.map(buildEntry) } };
    },
  );
}

function buildEntry({ ms, message }: LogLine): LogEntry {
  return { timestamp: formatIsoTime(ms), message, level: LEVEL, fields: { logger: LOGGER } };
}
