import type { Clock, Timer } from '@sandlot/std';

/** Why a {@link Deadline} ended the call it guards. */
export class CallEnded extends Error {
  override readonly name = 'CallEnded';
  readonly code: 'Timeout' | 'Aborted';

  constructor(code: 'Timeout' | 'Aborted', message: string) {
    super(message);
    this.code = code;
  }
}

/** One signal that aborts when the deadline of a call passes or its caller aborts. Dispose it after the call. */
export class Deadline implements Disposable {
  readonly #clock: Clock;
  readonly #endsAtMs: number;
  readonly #timer: Timer;
  readonly #controller = new AbortController();
  readonly #deadlineMs: number;
  readonly #caller: AbortSignal | undefined;
  #silenceTimer: Timer | undefined;
  #activeAtMs = 0;

  constructor(clock: Clock, call: { readonly deadlineMs: number; readonly signal: AbortSignal | undefined }) {
    this.#clock = clock;
    this.#deadlineMs = call.deadlineMs;
    this.#endsAtMs = clock.monotonic() + call.deadlineMs;
    this.#timer = clock.setTimeout(() => this.#controller.abort(this.timeoutError()), call.deadlineMs);
    this.#caller = call.signal;
    if (this.#caller?.aborted === true) this.cancel();
    this.#caller?.addEventListener('abort', this.cancel, { once: true });
  }

  /** Its reason is a {@link CallEnded}. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  remainingMs(): number {
    return Math.max(this.#endsAtMs - this.#clock.monotonic(), 0);
  }

  timeoutError(): CallEnded {
    return new CallEnded('Timeout', `no answer within ${this.#deadlineMs} ms`);
  }

  /** From now on, the call also ends when {@link recordActivity} has not been called for `silenceMs`. */
  limitSilence(silenceMs: number): void {
    this.recordActivity();
    const check = (): void => {
      const remainingMs = this.#activeAtMs + silenceMs - this.#clock.monotonic();
      if (remainingMs > 0) this.#silenceTimer = this.#clock.setTimeout(check, remainingMs);
      else this.#controller.abort(new CallEnded('Timeout', `nothing heard for ${silenceMs} ms`));
    };
    check();
  }

  recordActivity(): void {
    this.#activeAtMs = this.#clock.monotonic();
  }

  /** Ends the call now. */
  readonly cancel = (): void => {
    this.#controller.abort(new CallEnded('Aborted', 'aborted by the caller'));
  };

  [Symbol.dispose](): void {
    this.#timer.cancel();
    this.#silenceTimer?.cancel();
    this.#caller?.removeEventListener('abort', this.cancel);
  }
}
