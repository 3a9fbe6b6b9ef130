import { getPodName } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { isForbidden, isNotFound, KubeError } from '@sandlot/kube';
import type { KubeClient, LogOptions } from '@sandlot/kube';
import { notEnabled } from '../../errors/refusals.ts';
import { LimitedLog, readLimitedLines, readLogLines } from './lines.ts';
import type { LogLine } from './lines.ts';
import { formatTag, readMarks } from './marks.ts';
import type { LogPart } from './merge.ts';

export interface PodLogsDeps {
  readonly client: Pick<KubeClient, 'readLog'>;
}

/** What one answer reads of a log at most. */
const LIMIT_BYTES = 8 * 1_048_576;
/** Enough for the time of a line. */
const TIME_BYTES = 64;
/** Lines from the end of a log. A node knows no limit of bytes from the end, so fewer lines are read where these have too many. */
export const TAILS = [5_000, 500, 50] as const;
const DEADLINE_MS = 10_000;

type Part = Pick<LogOptions, 'sinceTime' | 'limitBytes' | 'tailLines'>;

/**
 * The log of the first container of a sandbox, as far as its node has it. A Pod that is not there yet or any more, or whose container has not
 * started, has an empty one. Reading it throws an ApiError 403 where the API may not read logs, and rejects with a KubeError.
 */
export class PodLog {
  readonly #deps: PodLogsDeps;
  readonly #sandbox: Sandbox;
  readonly #signal: AbortSignal;
  readonly #tag: string;

  constructor(deps: PodLogsDeps, sandbox: Sandbox, signal: AbortSignal) {
    this.#deps = deps;
    this.#sandbox = sandbox;
    this.#signal = signal;
    this.#tag = formatTag(sandbox.metadata.uid ?? '');
  }

  /** The lines from that time on, epoch milliseconds. */
  readFrom(fromMs: number): LogPart {
    // The node compares whole seconds.
    const sinceTime = new Date(Math.floor(fromMs / 1_000) * 1_000).toISOString();
    const log = this.#open({ sinceTime, limitBytes: LIMIT_BYTES });
    return { lines: readMarks(chooseFrom(readLimitedLines(log), fromMs), this.#tag), isWhole: () => !log.isSpent };
  }

  /** The last lines; without a limit of lines that is not {@link LogPart.isWhole}, its end is missing. */
  readTail(tailLines: number): LogPart {
    const log = this.#open({ tailLines });
    return { lines: readMarks(readLogLines(log), this.#tag), isWhole: () => !log.isSpent };
  }

  /** When the first line was written that the node has, epoch milliseconds; undefined: it has none. */
  async findFirstMs(): Promise<number | undefined> {
    for await (const { ms } of readLogLines(this.#open({ limitBytes: TIME_BYTES }))) return ms;
    return undefined;
  }

  #open(part: Part): LimitedLog {
    const { metadata, spec } = this.#sandbox;
    const container = spec.podTemplate.spec.containers[0]?.name ?? '';
    const key = { namespace: metadata.namespace, name: getPodName(this.#sandbox) };
    const options = { ...part, container, signal: this.#signal, deadlineMs: DEADLINE_MS };
    return new LimitedLog(endWithoutLog(this.#deps.client.readLog(key, options)), LIMIT_BYTES);
  }
}

async function* chooseFrom(lines: AsyncIterable<LogLine>, fromMs: number): AsyncGenerator<LogLine> {
  for await (const line of lines) if (line.ms >= fromMs) yield line;
}

async function* endWithoutLog(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* chunks;
  } catch (error) {
    if (isForbidden(error)) throw notEnabled('logs are');
    if (!isNotFound(error) && !(error instanceof KubeError && error.code === 'BadRequest')) throw error;
  }
}
