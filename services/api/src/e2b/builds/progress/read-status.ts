import type { SandboxTemplateBuild } from '@sandlot/api-types';
import type { Clock } from '@sandlot/std';
import type { LogEntry, LogQuery } from '@sandlot/template-build';
import type { ApiKey } from '@sandlot/tenancy';
import { ApiError } from '../../../errors/api-error.ts';
import type { Builder } from '../builder/builder.ts';
import { findBuild } from '../find-build.ts';
import type { FindBuildDeps, NamedBuild } from '../find-build.ts';
import { findReason, getBuildStatus } from './build-state.ts';
import type { BuildInfo, BuildStatus, StatusQuery } from './schemas.ts';

export interface ProgressDeps extends FindBuildDeps {
  readonly builder: Pick<Builder, 'readLog'>;
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
}

/** Clients stop to ask at the first empty page of a build that has ended, so an answer without the log is the last resort. */
const PATIENCE_MS = 5_000;
const PAUSE_MS = 250;

/** The state of a build, with one page of its log. Throws an ApiError 400 for an unknown one. */
export async function readStatus(
  deps: ProgressDeps,
  key: ApiKey,
  { named, query, signal }: { readonly named: NamedBuild; readonly query: StatusQuery; readonly signal: AbortSignal },
): Promise<BuildInfo> {
  // Before the log: the builder writes the last entry first, so a log that is read later is whole where the status is final.
  const build = await findBuild(deps, key, named);
  const status = getBuildStatus(build);
  const { logsOffset: offset, limit, level } = query;
  const logEntries = await readPage(deps, build, { status, page: { offset, limit, level }, signal });
  const reason = findReason(build);
  return {
    templateID: named.templateID,
    buildID: build.metadata.name ?? '',
    status,
    logs: [],
    logEntries: [...logEntries],
    ...(reason === undefined ? {} : { reason }),
  };
}

interface PageRead {
  readonly status: BuildStatus;
  readonly page: LogQuery;
  readonly signal: AbortSignal;
}

/** Empty where the log cannot be read. */
async function readPage(
  { builder, clock }: ProgressDeps,
  { metadata: { uid = '' } }: SandboxTemplateBuild,
  { status, page, signal }: PageRead,
): Promise<readonly LogEntry[]> {
  if (status === 'waiting') return [];
  const endMs = clock.monotonic() + (status === 'building' ? 0 : PATIENCE_MS);
  for (;;) {
    try {
      return await builder.readLog(uid, page, signal);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 503) throw error;
      if (signal.aborted || clock.monotonic() >= endMs) return [];
    }
    await clock.sleep(PAUSE_MS, signal);
  }
}
