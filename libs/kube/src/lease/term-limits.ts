/**
 * The ends of the terms of a process. Timers end them in time, unless the process was stopped for a while: then what the network
 * has delivered meanwhile is handled before the timers. So each request looks at the time first.
 */
export class TermLimits {
  readonly #checks = new Set<() => void>();

  /** `check` ends a term if its time is over. It is called until the result is disposed. */
  add(check: () => void): Disposable {
    this.#checks.add(check);
    return { [Symbol.dispose]: () => void this.#checks.delete(check) };
  }

  /** Ends each term whose time is over. */
  enforce(): void {
    for (const check of this.#checks) check();
  }
}
