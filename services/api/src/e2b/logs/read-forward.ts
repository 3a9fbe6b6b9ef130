import type { LogLine } from './lines.ts';
import { joinParts, mergeByTime } from './merge.ts';
import type { LogPart } from './merge.ts';
import { selectFirst } from './select.ts';
import type { LogRead, LogSources } from './sources.ts';

const EMPTY: LogPart = { lines: [], isWhole: () => true };

/** The first lines from a time on: those that only the store still has, then those of the node, with what the daemon says between them. */
export async function readForward(
  { pod, records, older }: LogSources,
  { from = 0, oldestMs, limit, isWanted }: LogRead,
): Promise<readonly LogLine[]> {
  const newer = pod?.readFrom(from) ?? EMPTY;
  let log = newer;
  if (older !== undefined) {
    const untilMs = (await pod?.findFirstMs()) ?? Infinity;
    const { lines, isWhole } = await older({ fromMs: Math.max(from, oldestMs), untilMs });
    log = joinParts({ lines, isWhole: () => isWhole }, newer);
  }
  const { untilMs = Infinity } = records;
  const isBefore = (line: LogLine): boolean => line.ms < untilMs && isWanted(line);
  return selectFirst(mergeByTime(log, records.lines), { limit, isWanted: isBefore });
}
