import type { Clock } from './clock.ts';

const NS_PER_MS = 1_000_000;

/**
 * RFC 3339 in UTC with nine fractional digits, never all zero: the form in which clients compare first-observed and
 * first-ready times. It is anchored once to wall time and follows the monotonic clock, so that stamps never run backwards.
 */
export function createStamp(clock: Clock): () => string {
  const anchorMs = clock.now();
  const startedMs = clock.monotonic();
  return () => {
    const elapsedMs = clock.monotonic() - startedMs;
    const wholeMs = Math.floor(elapsedMs);
    const nanoseconds = Math.floor((elapsedMs - wholeMs) * NS_PER_MS);
    const [seconds = '', rest = ''] = new Date(anchorMs + wholeMs).toISOString().split('.');
    const fraction = `${rest.slice(0, 3)}${String(nanoseconds).padStart(6, '0')}`;
    return `${seconds}.${/^0+$/.test(fraction) ? '000000001' : fraction}Z`;
  };
}
