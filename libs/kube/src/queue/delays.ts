import type { Clock, Timer } from '@sandlot/std';
import TinyQueue from 'tinyqueue';

interface Delayed {
  readonly key: string;
  readonly dueMs: number;
  readonly priority: number;
}

/** Delayed keys. A key added several times waits once, until the earliest time and with the highest priority. */
export class Delays {
  readonly #clock: Clock;
  readonly #due: (key: string, priority: number) => void;
  readonly #entries = new Map<string, Delayed>();
  /** May contain replaced entries. The valid ones are in `#entries`. */
  #queue = new TinyQueue<Delayed>([], byDueTime);
  #armed: { readonly dueMs: number; readonly timer: Timer } | undefined;

  constructor(clock: Clock, due: (key: string, priority: number) => void) {
    this.#clock = clock;
    this.#due = due;
  }

  add(key: string, delayMs: number, priority: number): void {
    const waiting = this.#entries.get(key);
    const asked = { key, dueMs: this.#clock.monotonic() + delayMs, priority };
    const entry = waiting === undefined ? asked : merge(waiting, asked);
    if (entry === waiting) return;
    this.#entries.set(key, entry);
    this.#queue.push(entry);
    this.#arm();
  }

  /** Removes all keys and returns them. */
  clear(): readonly string[] {
    const keys = [...this.#entries.keys()];
    this.#entries.clear();
    this.#queue = new TinyQueue<Delayed>([], byDueTime);
    this.#armed?.timer.cancel();
    this.#armed = undefined;
    return keys;
  }

  /** Removes the keys that match and returns them. */
  remove(matches: (key: string) => boolean): readonly string[] {
    const keys = [...this.#entries.keys()].filter(matches);
    for (const key of keys) this.#entries.delete(key);
    return keys;
  }

  #arm(): void {
    const next = this.#next();
    if (next === undefined || next.dueMs === this.#armed?.dueMs) return;
    this.#armed?.timer.cancel();
    const { dueMs } = next;
    this.#armed = { dueMs, timer: this.#clock.setTimeout(() => this.#fire(), dueMs - this.#clock.monotonic()) };
  }

  #fire(): void {
    this.#armed = undefined;
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      if (next.dueMs > this.#clock.monotonic()) break;
      this.#queue.pop();
      this.#entries.delete(next.key);
      this.#due(next.key, next.priority);
    }
    this.#arm();
  }

  #next(): Delayed | undefined {
    let next = this.#queue.peek();
    while (next !== undefined && this.#entries.get(next.key) !== next) {
      this.#queue.pop();
      next = this.#queue.peek();
    }
    return next;
  }
}

function byDueTime(a: Delayed, b: Delayed): number {
  return a.dueMs - b.dueMs;
}

/** Returns `a` itself when `b` is neither earlier nor of higher priority. */
function merge(a: Delayed, b: Delayed): Delayed {
  if (a.dueMs <= b.dueMs && a.priority >= b.priority) return a;
  return { key: a.key, dueMs: Math.min(a.dueMs, b.dueMs), priority: Math.max(a.priority, b.priority) };
}
