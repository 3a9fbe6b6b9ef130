import type { LogLine } from './lines.ts';

/** A part of a log that may go on behind its end, as where it was read up to a limit. */
export interface LogPart {
  /** The oldest first. */
  readonly lines: AsyncIterable<LogLine> | Iterable<LogLine>;
  /** Asked once all lines were read. */
  readonly isWhole: () => boolean;
}

/** The second part follows if the first one is whole. */
export function joinParts(first: LogPart, second: LogPart): LogPart {
  async function* join(): AsyncGenerator<LogLine> {
    yield* first.lines;
    if (first.isWhole()) yield* second.lines;
  }
  return { lines: join(), isWhole: () => first.isWhole() && second.isWhole() };
}

/**
 * Adds records to a log, all in the order of time. What is later than the end of a log that is not whole comes with the next answer: a client
 * goes on behind the last line that it has seen.
 */
export async function* mergeByTime(log: LogPart, records: readonly LogLine[]): AsyncGenerator<LogLine> {
  let next = 0;
  for await (const line of log.lines) {
    for (let record = records[next]; record !== undefined && record.ms < line.ms; record = records[next]) {
      yield record;
      next += 1;
    }
    yield line;
  }
  if (log.isWhole()) yield* records.slice(next);
}
