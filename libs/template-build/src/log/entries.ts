/** From the least to the most severe. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** One line of the log of a build. */
export interface LogEntry {
  /** RFC 3339. */
  readonly timestamp: string;
  readonly message: string;
  readonly level: LogLevel;
  /** `base`, `finalize`, or the position of a step from 1: both clients look the line of the script up by it. */
  readonly step?: string | undefined;
}

export interface LogQuery {
  /** Entries of the least level that the client has already. */
  readonly offset: number;
  readonly limit: number;
  readonly level: LogLevel;
}

/**
 * One page of a log. The offset counts after the filter, and a page behind the end is empty: clients ask until one is, so a
 * clamped offset would keep them asking for ever.
 */
export function pageEntries(entries: readonly LogEntry[], { offset, limit, level }: LogQuery): readonly LogEntry[] {
  const least = logLevels.indexOf(level);
  return entries.filter((entry) => logLevels.indexOf(entry.level) >= least).slice(offset, offset + limit);
}
