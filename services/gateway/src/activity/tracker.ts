import type { Clock, Timer } from '@sandlot/std';
import type { SandboxRef } from '../directory/target.ts';
import { ActivityReporter } from './reporter.ts';
import type { ActivityBus } from './reporter.ts';

export interface UsedSandbox extends SandboxRef {
  readonly idleMs: number | undefined;
}

interface Use {
  /** Number of open requests, streams and WebSockets. */
  open: number;
  usedMs: number;
  reportedMs: number;
  timer: Timer | undefined;
}

/**
 * Reports which Sandboxes are in use: at once on the first use, then at most once per interval. A Sandbox is in use while
 * something is open. Sandboxes without an idle limit are not reported.
 */
export class ActivityTracker {
  readonly #reporter: ActivityReporter;
  readonly #clock: Clock;
  readonly #maxIntervalMs: number;
  /** By UID of the Sandbox. */
  readonly #uses = new Map<string, Use>();

  constructor(bus: ActivityBus, clock: Clock, maxIntervalMs: number) {
    this.#reporter = new ActivityReporter(bus, clock);
    this.#clock = clock;
    this.#maxIntervalMs = maxIntervalMs;
  }

  /** Records that a request, stream or WebSocket begins. */
  begin(sandbox: UsedSandbox): void {
    if (sandbox.idleMs === undefined) return;
    const use = this.#uses.get(sandbox.uid) ?? { open: 0, usedMs: 0, reportedMs: -Infinity, timer: undefined };
    this.#uses.set(sandbox.uid, use);
    use.open += 1;
    this.#recordUse(sandbox, use);
  }

  /** Records the end of what {@link begin} recorded. */
  end(sandbox: UsedSandbox): void {
    const use = this.#uses.get(sandbox.uid);
    if (use === undefined) return;
    use.open -= 1;
    this.#recordUse(sandbox, use);
  }

  /** Stops reporting. */
  close(): void {
    for (const { timer } of this.#uses.values()) timer?.cancel();
    this.#uses.clear();
    this.#reporter.close();
  }

  #recordUse(sandbox: UsedSandbox, use: Use): void {
    use.usedMs = this.#clock.now();
    if (use.timer !== undefined) return;
    this.#report(sandbox, use);
  }

  #report(sandbox: UsedSandbox, use: Use): void {
    const { namespace, name, uid, idleMs = 0 } = sandbox;
    use.reportedMs = use.usedMs;
    this.#reporter.report({ namespace, name, uid, atMs: use.usedMs });
    use.timer = this.#clock.setTimeout(() => this.#onInterval(sandbox, use), Math.min(this.#maxIntervalMs, idleMs / 2));
  }

  #onInterval(sandbox: UsedSandbox, use: Use): void {
    use.timer = undefined;
    if (use.open > 0) use.usedMs = this.#clock.now();
    if (use.usedMs > use.reportedMs) this.#report(sandbox, use);
    else this.#uses.delete(sandbox.uid);
  }
}
