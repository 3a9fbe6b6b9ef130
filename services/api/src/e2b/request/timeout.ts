import { badRequest } from '../../errors/api-error.ts';

/** Throws an ApiError 400 unless 0 < `seconds` <= `maxSeconds`; a maximum of 0 means no limit. */
export function assertTimeout(seconds: number, maxSeconds: number): void {
  if (seconds <= 0) throw badRequest(`timeout: expected more than 0 seconds, got ${seconds}`);
  if (maxSeconds > 0 && seconds > maxSeconds) {
    throw badRequest(`timeout: expected at most ${maxSeconds} seconds, got ${seconds}`);
  }
}
