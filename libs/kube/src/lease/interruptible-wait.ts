/** A wait that other code can end early. A call of `interrupt` while nothing waits ends the next wait. */
export class InterruptibleWait {
  #interrupted = new AbortController();

  interrupt(): void {
    this.#interrupted.abort();
  }

  async run(wait: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    await wait(AbortSignal.any([this.#interrupted.signal, signal]));
    this.#interrupted = new AbortController();
  }
}
