/** The result of a successful reconcile. An event may enqueue the key earlier than `requeueAfter`. */
export type ReconcileResult =
  { readonly kind: 'done' } | { readonly kind: 'requeueAfter'; readonly ms: number; readonly reason: string };

/** The key needs no other run before a change. */
export const done: ReconcileResult = Object.freeze({ kind: 'done' });

/** Runs the key again after `ms` even without a change. `reason` states what the run waits for. */
export function requeueAfter(ms: number, reason: string): ReconcileResult {
  return { kind: 'requeueAfter', ms, reason };
}

/** A failure that no retry can solve until the object changes, usually a mistake of a user. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError';
  readonly code = 'Terminal';
}

/** An expected failure. Retried after `retryAfterMs`, or with the queue's backoff. */
export class RetryableError extends Error {
  override readonly name = 'RetryableError';
  readonly code = 'Retryable';
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { retryAfterMs?: number | undefined; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs;
  }
}
