import type { LogEntry } from '@sandlot/template-build';
import type { LogsQuery } from './schemas.ts';

/** Reads entries of a log whose end is not known, by offset. A page behind the end is empty. */
export type ReadEntries = (offset: number, limit: number) => Promise<readonly LogEntry[]>;

type Wanted = Pick<LogsQuery, 'cursor' | 'limit' | 'direction'>;

/**
 * The entries from the cursor on, oldest first, or those up to it, newest first. Their place is found by halving, because a log is read
 * by offsets and may be long.
 */
export async function readWindow(
  read: ReadEntries,
  { cursor, limit, direction }: Wanted,
): Promise<readonly LogEntry[]> {
  if (direction === 'forward') {
    const start = cursor === undefined ? 0 : await findOffset(read, (entry) => Date.parse(entry.timestamp) >= cursor);
    return read(start, limit);
  }
  const isBehind = (entry: LogEntry): boolean => cursor !== undefined && Date.parse(entry.timestamp) > cursor;
  const end = await findOffset(read, isBehind);
  const start = Math.max(0, end - limit);
  return end === start ? [] : (await read(start, end - start)).toReversed();
}

/** Offset of the first entry that is behind the place, or of the end. Entries are in the order of their times. */
async function findOffset(read: ReadEntries, isBehind: (entry: LogEntry) => boolean): Promise<number> {
  const hasPassed = async (offset: number): Promise<boolean> => {
    const [entry] = await read(offset, 1);
    return entry === undefined || isBehind(entry);
  };
  let [low, high] = [0, 1];
  while (!(await hasPassed(high - 1))) [low, high] = [high, high * 2];
  // Everything before `low` is in front of the place, and `high - 1` is behind it.
  high -= 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await hasPassed(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
