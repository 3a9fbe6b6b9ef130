import type { Change, Storage } from '../storage/storage.ts';

/** A controller that runs inside the fake server. */
export interface ControlLoop {
  /** Called within the commit to update indexes. Must not write. */
  observe?(change: Change): void;
  /** Called after the commit. May write. The object may have changed since. */
  react(change: Change): void;
}

/** Passes every change to the controllers, in order, in a later turn of the event loop than the commit. */
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

  /** Simulates a controller manager that is down. The controllers handle changes made meanwhile after `resume`. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#schedule();
  }

  /** Resolves when all changes are handled, or at once while paused. */
  waitUntilIdle(): Promise<void> {
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
