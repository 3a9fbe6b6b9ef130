import type { LogLine } from './lines.ts';
import { mergeByTime } from './merge.ts';
import type { LogPart } from './merge.ts';
import { TAILS } from './pod-logs.ts';
import type { PodLog } from './pod-logs.ts';
import { selectLast } from './select.ts';
import type { LogRead, LogSources } from './sources.ts';

interface Newest {
  /** The newest first. */
  readonly lines: readonly LogLine[];
  /** When the first line was written that was looked at, epoch milliseconds. */
  readonly sinceMs: number;
  /** Whether wanted lines that were looked at had no room. */
  readonly isFull: boolean;
}

/** The last lines before a time: those of the node with what the daemon says between them, and before these what only the store still has. */
export async function readBackward(sources: LogSources, wanted: LogRead): Promise<readonly LogLine[]> {
  const newest = await readNewest(sources, wanted);
  const { older } = sources;
  const { from = Infinity, oldestMs, limit, isWanted } = wanted;
  if (older === undefined || newest.isFull || newest.lines.length >= limit) return newest.lines;
  const stored = await older({ fromMs: oldestMs, untilMs: Math.min(from, newest.sinceMs) });
  const sinceMs = stored.isWhole ? 0 : (stored.lines[0]?.ms ?? 0);
  const known = newest.lines.toReversed().filter(({ ms }) => ms >= sinceMs);
  return selectLast(mergeByTime({ lines: stored.lines, isWhole: () => true }, known), { limit, isWanted });
}

async function readNewest({ pod, records }: LogSources, wanted: LogRead): Promise<Newest> {
  const nothing: LogPart = { lines: [], isWhole: () => true };
  if (pod === undefined) return selectNewest(nothing, records.lines, wanted);
  return readTails(pod, records.lines, wanted);
}

async function readTails(pod: PodLog, records: readonly LogLine[], wanted: LogRead): Promise<Newest> {
  let newest: Newest = { lines: [], sinceMs: Infinity, isFull: false };
  for (const tailLines of TAILS) {
    const tail = pod.readTail(tailLines);
    newest = await selectNewest(tail, records, wanted);
    if (tail.isWhole()) break;
  }
  return newest;
}

async function selectNewest(
  { lines: container }: LogPart,
  records: readonly LogLine[],
  { from = Infinity, limit, isWanted }: LogRead,
): Promise<Newest> {
  let sinceMs = Infinity;
  let wantedCount = 0;
  const watched = async function* (): AsyncGenerator<LogLine> {
    for await (const line of container) {
      sinceMs = Math.min(sinceMs, line.ms);
      yield line;
    }
  };
  const isBefore = (line: LogLine): boolean => {
    const isChosen = line.ms < from && isWanted(line);
    wantedCount += isChosen ? 1 : 0;
    return isChosen;
  };
  const log = { lines: watched(), isWhole: () => true };
  const lines = await selectLast(mergeByTime(log, records), { limit, isWanted: isBefore });
  return { lines, sinceMs, isFull: lines.length < wantedCount };
}
