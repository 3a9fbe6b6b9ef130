/** How a reconcile ended well. `requeueAfter` says in `reason` what it waits for; an event may bring the key back earlier. */
export type ReconcileResult =
  { readonly kind: 'done' } | { readonly kind: 'requeueAfter'; readonly ms: number; readonly reason: string };

/** Nothing to do until something changes. */
export const done: ReconcileResult = Object.freeze({ kind: 'done' });

/** Look again after `ms`, whatever happens; `reason` is for the log. */
export function requeueAfter(ms: number, reason: string): ReconcileResult {
  return { kind: 'requeueAfter', ms, reason };
}

/** No retry will help until the object changes: a user's mistake, usually. */
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
