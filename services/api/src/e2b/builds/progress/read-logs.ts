import type { LogEntry } from '@sandlot/template-build';
import type { ApiKey } from '@sandlot/tenancy';
import { findBuild } from '../find-build.ts';
import type { NamedBuild } from '../find-build.ts';
import { getBuildStatus } from './build-state.ts';
import { readWindow } from './log-window.ts';
import type { ProgressDeps } from './read-status.ts';
import type { LogsQuery } from './schemas.ts';

interface LogsRead {
  readonly named: NamedBuild;
  readonly query: LogsQuery;
  readonly signal: AbortSignal;
}

/** A part of the log of a build. Throws an ApiError: 400 for an unknown build, 503 while the log cannot be read. */
export async function readLogs(
  deps: ProgressDeps,
  key: ApiKey,
  { named, query, signal }: LogsRead,
): Promise<readonly LogEntry[]> {
  const build = await findBuild(deps, key, named);
  if (getBuildStatus(build) === 'waiting') return [];
  const { uid = '' } = build.metadata;
  const { level } = query;
  return readWindow((offset, limit) => deps.builder.readLog(uid, { offset, limit, level }, signal), query);
}
