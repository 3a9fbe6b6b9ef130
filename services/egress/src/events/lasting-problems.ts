import type { Clock, Timer } from '@sandlot/std';
import type { Credential, ValueProblem } from '../plan/plan.ts';

/** Hears of a header that has had no value for a while. */
export type OnLasting = (credential: Credential, problem: ValueProblem) => void;

/**
 * A rule and its Secret come by watches of their own, in any order, and after a start of the process all rules may come first. A
 * problem that is over by then is none.
 */
const LASTING_MS = 10_000;

interface Seen {
  readonly credential: Credential;
  readonly problem: ValueProblem;
}

/** Waits until headers have had no value for ten seconds. */
export class LastingProblems implements Disposable {
  readonly #clock: Pick<Clock, 'setTimeout'>;
  readonly #onLasting: OnLasting;
  readonly #seen = new Map<string, Seen>();
  readonly #timers = new Map<string, Timer>();

  constructor(clock: Pick<Clock, 'setTimeout'>, onLasting: OnLasting) {
    this.#clock = clock;
    this.#onLasting = onLasting;
  }

  /** Notes what keeps the header from having a value; undefined: it has one, or no rule needs it any more. */
  see(credential: Credential, problem: ValueProblem | undefined): void {
    const { ref } = credential;
    if (problem === undefined) {
      this.#forget(ref);
      return;
    }
    this.#seen.set(ref, { credential, problem });
    if (!this.#timers.has(ref))
      this.#timers.set(
        ref,
        this.#clock.setTimeout(() => this.#report(ref), LASTING_MS),
      );
  }

  [Symbol.dispose](): void {
    for (const ref of [...this.#timers.keys()]) this.#forget(ref);
  }

  #report(ref: string): void {
    const seen = this.#seen.get(ref);
    this.#forget(ref);
    if (seen !== undefined) this.#onLasting(seen.credential, seen.problem);
  }

  #forget(ref: string): void {
    this.#timers.get(ref)?.cancel();
    this.#timers.delete(ref);
    this.#seen.delete(ref);
  }
}
