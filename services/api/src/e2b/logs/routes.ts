import type { Clock } from '@sandlot/std';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import { formatIsoTime } from '../answer/sandbox.ts';
import { oneSandbox } from '../operations/shape.ts';
import type { Level, LogLine } from './lines.ts';
import { levels } from './lines.ts';
import { readLogOf } from './read-log.ts';
import type { ReadLogDeps } from './read-log.ts';
import { SandboxLogs } from './sandbox-logs.ts';
import { logQuery, logQueryV2, logsAnswer, logsAnswerV2 } from './schemas.ts';
import type { LogEntry } from './schemas.ts';

export interface LogDeps extends Omit<ReadLogDeps, 'logs'> {
  readonly clock: Pick<Clock, 'now'>;
}

/** Older lines than those of this time are in no answer without a time of its own, and in none of the store. */
const WEEK_MS = 7 * 86_400_000;
/** What stdout and stderr of the container are called; the node does not tell the two apart. */
const CONTAINER = { logger: 'container' } as const;
const CONTAINER_LEVEL: Level = 'info';
const LEAST: Level = 'debug';

export function buildLogRoutes(deps: LogDeps): readonly Route[] {
  const whole = { ...deps, logs: new SandboxLogs(deps) };
  return [buildLogRoute(whole), buildLogRouteV2(whole)];
}

function buildLogRoute(deps: ReadLogDeps & LogDeps): Route {
  return route(
    {
      ...endpoint('getSandboxLogs', 'get /sandboxes/{sandboxID}/logs', 'Reads the log of a sandbox from a time on.'),
      ...oneSandbox,
      query: logQuery,
      answers: { 200: { description: 'The lines, the oldest first.', schema: logsAnswer } },
    },
    async ({ key, params, query: { start, limit }, signal }) => {
      const oldestMs = deps.clock.now() - WEEK_MS;
      const wanted = { from: start ?? oldestMs, oldestMs, direction: 'forward', limit, search: '' } as const;
      const isWanted = (): boolean => true;
      const place = { namespace: key.namespace, id: params.sandboxID };
      const lines = await readLogOf(deps, place, { ...wanted, isWanted, level: LEAST, signal });
      const entries = lines.map(buildEntry);
      const logs = entries.map(({ timestamp, message, level, fields }) => ({
        timestamp,
        // The CLI parses it, and calls a method of the level.
        line: JSON.stringify({ level, message, ...fields }),
      }));
      return { status: 200, body: { logs, logEntries: entries } };
    },
  );
}

function buildLogRouteV2(deps: ReadLogDeps & LogDeps): Route {
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
      const oldestMs = deps.clock.now() - WEEK_MS;
      const least = levels.indexOf(level);
      const isOfLevel = (of: Level): boolean => levels.indexOf(of) >= least;
      const isWanted = (line: LogLine): boolean => isOfLevel(getLevel(line)) && line.message.includes(search);
      const from = cursor ?? (direction === 'forward' ? oldestMs : undefined);
      const wanted = { from, oldestMs, direction, limit, search, level, isWanted, signal };
      const place = { namespace: key.namespace, id: params.sandboxID };
      const lines = await readLogOf(deps, place, wanted);
      return { status: 200, body: { logs: lines.map(buildEntry) } };
    },
  );
}

function getLevel({ process }: LogLine): Level {
  return process?.level ?? CONTAINER_LEVEL;
}

function buildEntry(line: LogLine): LogEntry {
  const { ms, message, process } = line;
  const fields =
    process === undefined
      ? CONTAINER
      : { logger: 'process', event: process.event, ...(process.pid === undefined ? {} : { pid: process.pid }) };
  return { timestamp: formatIsoTime(ms), message, level: getLevel(line), fields };
}
