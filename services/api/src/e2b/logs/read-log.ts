import { ApiError } from '../../errors/api-error.ts';
import { endedLogsNotKept } from '../../errors/refusals.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import { findOwnSandbox } from '../operations/find-sandbox.ts';
import type { FindDeps } from '../operations/find-sandbox.ts';
import type { Ended } from './ended/ended-index.ts';
import type { EndedSandboxes } from './ended/ended-sandboxes.ts';
import type { LogLine } from './lines.ts';
import type { SandboxLogs, SandboxLogsDeps } from './sandbox-logs.ts';
import type { LogRead } from './sources.ts';

export interface ReadLogDeps extends FindDeps, SandboxLogsDeps {
  readonly logs: SandboxLogs;
  readonly endedSandboxes: Pick<EndedSandboxes, 'find'>;
}

/**
 * For this long the log of a sandbox that has ended is empty, and not refused: clients that follow it ask for it once more before they ask
 * whether the sandbox still runs, and take every refusal for a failure.
 */
const FOLLOWERS_MS = 60_000;
/** How long a Pod may still print once its sandbox has ended. */
const LAST_WORDS_MS = 600_000;

/** The log of a sandbox of the namespace. Throws an ApiError 404 for ids that it never had, and 403 for ended ones whose logs are not kept. */
export async function readLogOf(
  deps: ReadLogDeps,
  { namespace, id }: { readonly namespace: string; readonly id: string },
  wanted: LogRead,
): Promise<readonly LogLine[]> {
  const found = await findEither(deps, namespace, id);
  if ('claim' in found) return deps.logs.read(found, wanted);
  const { logStore, clock, logs } = deps;
  if (logStore !== undefined) {
    const untilMs = Math.min(clock.now(), found.atMs + LAST_WORDS_MS);
    const place = { namespace, pod: found.pod, sandboxUid: found.sandboxUid, sinceMs: 0, untilMs };
    return logs.readStored(logStore, place, wanted);
  }
  if (clock.now() - found.atMs < FOLLOWERS_MS) return [];
  throw endedLogsNotKept();
}

async function findEither(deps: ReadLogDeps, namespace: string, id: string): Promise<ClaimedSandbox | Ended> {
  try {
    return await findOwnSandbox(deps, { namespace }, id);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    const ended = await deps.endedSandboxes.find(namespace, id);
    if (ended === undefined) throw error;
    return ended;
  }
}
