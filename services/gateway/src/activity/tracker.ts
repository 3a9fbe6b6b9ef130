import type { Clock, Timer } from '@sandlot/std';
import type { SandboxRef } from '../decide.ts';
import { Retelling } from './reporter.ts';
import type { Reporting } from './reporter.ts';

export interface UsedSandbox extends SandboxRef {
  readonly idleMs: number | undefined;
}

interface Use {
  /** Requests, streams and WebSockets that are open. */
  open: number;
  usedMs: number;
  reportedMs: number;
  timer: Timer | undefined;
}

/**
 * Reports who uses which Sandbox: at once when nothing was said for an interval, and at its end what happened in between.
 * While something is open, the Sandbox is in use. Of those without an idle limit nobody has to know.
 */
export class Activity {
  readonly #retelling: Retelling;
  readonly #clock: Clock;
  readonly #longestMs: number;
  readonly #uses = new Map<string, Use>();

  constructor(bus: Reporting, clock: Clock, longestMs: number) {
    this.#retelling = new Retelling(bus, clock);
    this.#clock = clock;
    this.#longestMs = longestMs;
  }

  began(sandbox: UsedSandbox): void {
    if (sandbox.idleMs === undefined) return;
    const use = this.#uses.get(sandbox.uid) ?? { open: 0, usedMs: 0, reportedMs: -Infinity, timer: undefined };
    this.#uses.set(sandbox.uid, use);
    use.open += 1;
    this.#used(sandbox, use);
  }

  ended(sandbox: UsedSandbox): void {
    const use = this.#uses.get(sandbox.uid);
    if (use === undefined) return;
    use.open -= 1;
    this.#used(sandbox, use);
  }

  /** Sandboxes that are in use or were within the last interval. */
  get size(): number {
    return this.#uses.size;
  }

  /** Reports nothing any more. */
  close(): void {
    for (const { timer } of this.#uses.values()) timer?.cancel();
    this.#uses.clear();
    this.#retelling.close();
  }

  #used(sandbox: UsedSandbox, use: Use): void {
    use.usedMs = this.#clock.now();
    if (use.timer !== undefined) return;
    this.#report(sandbox, use);
  }

  #report(sandbox: UsedSandbox, use: Use): void {
    const { namespace, name, uid, idleMs = 0 } = sandbox;
    use.reportedMs = use.usedMs;
    this.#retelling.report({ namespace, name, uid, atMs: use.usedMs });
    use.timer = this.#clock.setTimeout(() => this.#due(sandbox, use), Math.min(this.#longestMs, idleMs / 2));
  }

  #due(sandbox: UsedSandbox, use: Use): void {
    use.timer = undefined;
    if (use.open > 0) use.usedMs = this.#clock.now();
    if (use.usedMs > use.reportedMs) this.#report(sandbox, use);
    else this.#uses.delete(sandbox.uid);
  }
}
