import { parseDurationMs } from '@sandlot/std';

export const RETENTION_EXPECTED = 'expected forever or a duration such as 30m';

/** A year. A longer time is more likely a mistake than a wish. */
export const MAX_RETENTION_SECONDS = 365 * 24 * 3_600;

/** How long a paused sandbox is kept: `forever`, `never`, or a duration such as `30m`; undefined for any other text. */
export function parseRetention(text: string): string | undefined {
  if (text === 'forever' || text === 'never') return text;
  if (/^\d{1,9}$/.test(text)) return `${text}s`;
  return parseDurationMs(text) === undefined ? undefined : text;
}

/** Seconds of a duration from 1s to {@link MAX_RETENTION_SECONDS}, rounded up; undefined for any other text. */
export function parseRetentionSeconds(text: string): number | undefined {
  const seconds = Math.ceil((parseDurationMs(parseRetention(text) ?? '') ?? 0) / 1_000);
  return seconds >= 1 && seconds <= MAX_RETENTION_SECONDS ? seconds : undefined;
}
