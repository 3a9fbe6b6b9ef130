import type { Change, Storage } from '../storage/storage.ts';

/** A controller that runs inside the fake. */
export interface ControlLoop {
  /** Within the commit: keep indexes, write nothing. */
  observe?(change: Change): void;
  /** After the commit: may write. The object may have changed since. */
  react(change: Change): void;
}

/** Runs the controllers over every change, in order, each change in its own turn of the event loop at the earliest. */
export class ControlLoops {
  readonly #loops: readonly ControlLoop[];
  readonly #queue: Change[] = [];
  #paused = false;
  #scheduled = false;
  #waiting: (() => void)[] = [];

  constructor(storage: Storage, loops: readonly ControlLoop[]) {
    this.#loops = loops;
    storage.subscribe((change) => {
      for (const loop of loops) loop.observe?.(change);
      this.#queue.push(change);
      this.#schedule();
    });
  }

  /** As a controller manager that is down: what happens meanwhile is handled after `resume`. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#schedule();
  }

  /** Resolves when there is nothing left to do; at once while paused. */
  settled(): Promise<void> {
    if (this.#paused || !this.#scheduled) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #schedule(): void {
    if (this.#paused || this.#scheduled || this.#queue.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    while (!this.#paused) {
      const change = this.#queue.shift();
      if (change === undefined) break;
      for (const loop of this.#loops) loop.react(change);
    }
    this.#scheduled = false;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
