import { badRequest } from '../../errors/api-error.ts';
import { MAX_RETENTION_SECONDS, parseRetentionSeconds } from './retention.ts';

/** How long a sandbox whose creation failed is kept, in seconds; `true`: until a user deletes it, `false`: not at all. */
export type FailedRetention = number | boolean;

const WORDS: Readonly<Record<string, boolean>> = { true: true, forever: true, false: false, never: false };

/** Reads the value of `reserve-failed-sandbox-for`. Throws an ApiError 400. */
export function readFailedRetention(value: string, key: string): FailedRetention {
  if (Object.hasOwn(WORDS, value)) return WORDS[value] === true;
  const seconds = parseRetentionSeconds(value);
  if (seconds !== undefined) return seconds;
  throw badRequest(
    `${key}: expected forever, never or a duration from 1s to ${MAX_RETENTION_SECONDS}s such as 30m, got "${value}"`,
  );
}

interface Written {
  /** From `reserve-failed-sandbox`. */
  readonly kept?: FailedRetention | undefined;
  /** From `reserve-failed-sandbox-for`. */
  readonly keptFor?: FailedRetention | undefined;
}

/**
 * One answer from both keys: a time says more than "yes". Undefined without a key. Throws an ApiError 400 if the keys
 * contradict each other.
 */
export function combineFailedRetention({ kept, keptFor }: Written): FailedRetention | undefined {
  if (kept === undefined || keptFor === undefined || kept === keptFor) return keptFor ?? kept;
  if (kept === true && keptFor !== false) return keptFor;
  if (keptFor === true && kept !== false) return kept;
  throw badRequest('reserve-failed-sandbox and reserve-failed-sandbox-for contradict each other: send one of them');
}
