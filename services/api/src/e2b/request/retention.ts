import { parseDurationMs } from '@sandlot/std';

export const RETENTION_EXPECTED = 'expected forever or a duration such as 30m';

/** How long a paused sandbox is kept: `forever`, `never`, or a duration such as `30m`; undefined for any other text. */
export function parseRetention(text: string): string | undefined {
  if (text === 'forever' || text === 'never') return text;
  if (/^\d{1,9}$/.test(text)) return `${text}s`;
  return parseDurationMs(text) === undefined ? undefined : text;
}
