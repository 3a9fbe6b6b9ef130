import { getPodName } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { isForbidden, isNotFound, KubeError } from '@sandlot/kube';
import type { KubeClient, LogOptions } from '@sandlot/kube';
import { notEnabled } from '../../errors/refusals.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import { getState } from '../../state/sandbox-state.ts';
import { AskQueue } from '../metrics/ask-queue.ts';
import { LimitedLog, readLimitedLines, readLogLines } from './lines.ts';
import type { LogLine } from './lines.ts';
import { selectFirst, selectLast } from './select.ts';
import type { Wanted } from './select.ts';

export interface PodLogsDeps {
  readonly client: Pick<KubeClient, 'readLog'>;
}

/** What one answer reads of a log at most. */
const LIMIT_BYTES = 8 * 1_048_576;
/** Lines from the end of a log. A node knows no limit of bytes from the end, so fewer lines are read where these have too many. */
const TAILS = [5_000, 500, 50] as const;
const DEADLINE_MS = 10_000;

export interface LogRead extends Wanted {
  /** Epoch milliseconds. The oldest lines from here on, or the newest before here; undefined: the newest of all. */
  readonly from: number | undefined;
  readonly direction: 'forward' | 'backward';
  readonly signal: AbortSignal;
}

/** Logs of the first container of sandboxes, as far as their nodes have them: a few at a time for a namespace. */
export class PodLogs {
  readonly #client: PodLogsDeps['client'];
  readonly #queue = new AskQueue();
  #reads = 0;

  constructor({ client }: PodLogsDeps) {
    this.#client = client;
  }

  /**
   * The lines of a sandbox; none while it is paused or its container has not started. Throws an ApiError 403 where the API may not
   * read logs, and rejects with a KubeError.
   */
  async read({ claim, sandbox }: ClaimedSandbox, wanted: LogRead): Promise<LogLine[]> {
    if (sandbox === undefined || getState(sandbox) === 'paused') return [];
    let lines: LogLine[] = [];
    let failure: unknown;
    const ask = async (): Promise<void> => {
      if (wanted.signal.aborted) return;
      try {
        lines = await this.#select(sandbox, wanted);
      } catch (error) {
        failure = error;
      }
    };
    this.#reads += 1;
    await this.#queue.add({ namespace: claim.metadata.namespace ?? '', id: String(this.#reads), ask });
    if (failure !== undefined) assertNoLogYet(failure);
    return lines;
  }

  #select(sandbox: Sandbox, wanted: LogRead): Promise<LogLine[]> {
    const read = (part: Part): LimitedLog => {
      const container = sandbox.spec.podTemplate.spec.containers[0]?.name ?? '';
      const key = { namespace: sandbox.metadata.namespace, name: getPodName(sandbox) };
      const options = { ...part, container, signal: wanted.signal, deadlineMs: DEADLINE_MS };
      return new LimitedLog(this.#client.readLog(key, options), LIMIT_BYTES);
    };
    return wanted.direction === 'backward' ? selectBackward(read, wanted) : selectForward(read, wanted);
  }
}

type Part = Pick<LogOptions, 'sinceTime' | 'limitBytes' | 'tailLines'>;

function selectForward(read: (part: Part) => LimitedLog, { from = 0, limit, isWanted }: LogRead): Promise<LogLine[]> {
  // The node compares whole seconds.
  const sinceTime = new Date(Math.floor(from / 1_000) * 1_000).toISOString();
  const isBehind = (line: LogLine): boolean => line.ms >= from && isWanted(line);
  return selectFirst(readLimitedLines(read({ sinceTime, limitBytes: LIMIT_BYTES })), { limit, isWanted: isBehind });
}

async function selectBackward(
  read: (part: Part) => LimitedLog,
  { from = Infinity, limit, isWanted }: LogRead,
): Promise<LogLine[]> {
  const isBefore = (line: LogLine): boolean => line.ms < from && isWanted(line);
  let lines: LogLine[] = [];
  for (const tailLines of TAILS) {
    const log = read({ tailLines });
    lines = await selectLast(readLogLines(log), { limit, isWanted: isBefore });
    if (!log.isSpent) break;
  }
  return lines;
}

/** A Pod that is not there yet or any more, or whose container has not started, has no log. Throws all other errors. */
function assertNoLogYet(error: unknown): void {
  if (isForbidden(error)) throw notEnabled('logs are');
  if (isNotFound(error) || (error instanceof KubeError && error.code === 'BadRequest')) return;
  throw error;
}
