import { computeBackoffMs } from '@sandlot/std';
import type { Random } from '@sandlot/std';
import type { KubeError } from '../errors.ts';

const MAX_ATTEMPTS = 6;
const BASE_MS = 50;
const MAX_BACKOFF_MS = 5_000;

/** Limits Retry-After. A caller that has to wait longer does so in its work queue. */
const MAX_RETRY_AFTER_MS = 10_000;

export interface FailedAttempt {
  readonly error: KubeError;
  /** 0 for the first attempt. */
  readonly attempt: number;
  /** Sending the request twice has the same effect as sending it once, or fails with a distinct error. */
  readonly idempotent: boolean;
  readonly remainingMs: number;
  readonly random: Random;
}

/**
 * The time to wait before a retry. Undefined when the request must not be retried or its deadline would pass first.
 * Retried are requests that the server never processed, idempotent calls after 429 and 503, and reads whose connection
 * broke.
 */
export function retryDelayMs({ error, attempt, idempotent, remainingMs, random }: FailedAttempt): number | undefined {
  if (attempt + 1 >= MAX_ATTEMPTS || !isRepeatable(error, idempotent)) return undefined;
  const asked = error.retryAfterMs;
  const delayMs =
    asked === undefined
      ? computeBackoffMs({ attempt, baseMs: BASE_MS, maxMs: MAX_BACKOFF_MS, random })
      : Math.min(asked, MAX_RETRY_AFTER_MS) * (1 + 0.25 * random());
  return delayMs < remainingMs ? delayMs : undefined;
}

function isRepeatable(error: KubeError, idempotent: boolean): boolean {
  if (error.code === 'Network') return !error.sent || error.verb === 'get' || error.verb === 'list';
  return idempotent && (error.status === 429 || error.status === 503);
}

/** Parses a Retry-After header in seconds, the only form that API servers send, into milliseconds. */
export function parseRetryAfterMs(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) * 1_000 : undefined;
}
