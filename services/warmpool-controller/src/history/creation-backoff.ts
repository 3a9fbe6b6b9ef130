import type { SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { computeBackoffMs } from '@sandlot/std';
import type { Random } from '@sandlot/std';

/** Why a pool does not create members before `untilMs`: the API server refuses them, or their Pods end at once. */
export interface CreationBackoff {
  /** Code of the error, or {@link SHORT_LIVED}. */
  readonly code: string;
  readonly message: string;
  /** 1 for the first failure in a row. */
  readonly attempt: number;
  /** Monotonic time of the next attempt. */
  readonly untilMs: number;
  /** {@link formatCreationSubject} the failed creations; the pool tries another subject at once. */
  readonly subject: string;
}

export type CreationFailure = Pick<CreationBackoff, 'code' | 'message' | 'subject'>;

/** Code of a back-off that starts because members ended soon after their creation. */
export const SHORT_LIVED = 'ShortLived';

const DELAYS = { baseMs: 250, maxMs: 30_000 };

/** A failure later than this after the end of a back-off starts at attempt 1 again. */
const RESET_MS = 2 * DELAYS.maxMs;

/** The back-off after one more failure; delays double from 250 ms to 30 s, with 20 % jitter. */
export function computeBackoffAfterFailure(
  previous: CreationBackoff | undefined,
  failure: CreationFailure,
  { nowMs, random }: { readonly nowMs: number; readonly random: Random },
): CreationBackoff {
  const continued = findBackoff(failure.subject, previous, nowMs);
  const attempt = continued === undefined ? 1 : continued.attempt + 1;
  const waitMs = computeBackoffMs({ ...DELAYS, attempt: attempt - 1, random, jitter: 0.2 });
  return { ...failure, attempt, untilMs: nowMs + waitMs };
}

/** The back-off if it concerns `subject` and is not too old; it may be over, see `untilMs`. */
export function findBackoff(
  subject: string,
  backoff: CreationBackoff | undefined,
  nowMs: number,
): CreationBackoff | undefined {
  if (backoff === undefined || backoff.subject !== subject) return undefined;
  return nowMs < backoff.untilMs + RESET_MS ? backoff : undefined;
}

export interface CreationInput {
  readonly pool: SandboxWarmPool;
  readonly template: SandboxTemplate | undefined;
  readonly templateHash: string | undefined;
}

/** Identifies what a pool creates: it changes with the spec of the pool and with the blueprint of its template. */
export function formatCreationSubject({ pool, template, templateHash }: CreationInput): string {
  return `${pool.metadata.generation ?? 0} ${template?.metadata.uid ?? ''} ${templateHash ?? ''}`;
}
