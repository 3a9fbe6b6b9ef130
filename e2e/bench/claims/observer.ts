import { findCondition, sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim, SandboxClaimStatus } from '@sandlot/api-types';
import { createInformer } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { NAMESPACE } from './stage.ts';

/** Times of one claim, milliseconds of the monotonic clock. */
export interface ClaimTimes {
  readonly sentMs: number;
  readyMs?: number;
  sandbox?: string | undefined;
}

/** Sees claims become Ready through a watch of its own, as a client would. */
export class Observer implements AsyncDisposable {
  readonly times = new Map<string, ClaimTimes>();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #waiting = new Set<() => void>();

  private constructor(running: (signal: AbortSignal) => Promise<void>) {
    this.#running = running(this.#stop.signal);
  }

  static async watch(client: KubeClient): Promise<Observer> {
    const informer = createInformer({ client, resource: sandboxClaims, namespace: NAMESPACE });
    const observer = new Observer((signal) => informer.run(signal));
    informer.onChange(({ next }) => {
      if (next !== undefined) observer.#see(next);
    });
    await informer.synced();
    return observer;
  }

  /** The claim of that name is being sent now; of a batch claim, each of its `replicas` is timed. */
  sending(name: string, replicas = 1): void {
    const sentMs = performance.now();
    for (let slot = 0; slot < replicas; slot += 1) this.times.set(timeKey(name, slot), { sentMs });
  }

  get readyCount(): number {
    return [...this.times.values()].filter(({ readyMs }) => readyMs !== undefined).length;
  }

  async ready(name: string): Promise<void> {
    await this.until(() => this.times.get(timeKey(name, 0))?.readyMs !== undefined);
  }

  /** Looks after each change of a claim. Throws after `limitMs`: a scenario must end. */
  async until(holds: () => boolean, limitMs = 180_000): Promise<void> {
    const deadlineMs = performance.now() + limitMs;
    while (!holds()) {
      if (performance.now() > deadlineMs) {
        throw new Error(`${this.readyCount} of ${this.times.size} claims were Ready after ${limitMs} ms`);
      }
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          this.#waiting.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, 1_000);
        this.#waiting.add(wake);
      });
    }
  }

  #see(claim: SandboxClaim): void {
    const { ready, names } = deliveredTo(claim);
    for (let slot = 0; slot < Math.max(ready, names.length); slot += 1) {
      const known = this.times.get(timeKey(claim.metadata.name ?? '', slot));
      if (known === undefined) continue;
      known.sandbox ??= names[slot];
      if (slot < ready) known.readyMs ??= performance.now();
    }
    for (const wake of this.#waiting) wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

interface Delivered {
  readonly ready: number;
  readonly names: readonly (string | undefined)[];
}

/** A batch claim counts what is Ready; a single one says it in its condition. */
function deliveredTo({ spec, status }: SandboxClaim): Delivered {
  const { sandbox, sandboxes = [], readyReplicas = 0, conditions } = status ?? {};
  if ((spec.replicas ?? 1) > 1) return { ready: readyReplicas, names: bySlot(sandboxes) };
  const isReady = findCondition(conditions, 'Ready')?.status === 'True';
  return { ready: isReady ? 1 : 0, names: sandbox?.name === undefined ? [] : [sandbox.name] };
}

function bySlot(shown: NonNullable<SandboxClaimStatus['sandboxes']>): (string | undefined)[] {
  const names: (string | undefined)[] = [];
  for (const { name, slot = 0 } of shown) names[slot] = name;
  return names;
}

function timeKey(claim: string, slot: number): string {
  return `${claim}/${slot}`;
}

/** What the times of many claims come to. */
export interface Latencies {
  /** From the first sending to the last Ready. */
  readonly allReadyMs: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
}

export function latenciesOf(times: Iterable<ClaimTimes>): Latencies {
  const all = [...times];
  const each = all.map(({ sentMs, readyMs = Infinity }) => readyMs - sentMs).sort((a, b) => a - b);
  const at = (share: number): number => each[Math.max(0, Math.ceil(share * each.length) - 1)] ?? 0;
  const begin = Math.min(...all.map(({ sentMs }) => sentMs));
  const end = Math.max(...all.map(({ readyMs = Infinity }) => readyMs));
  return { allReadyMs: end - begin, p50Ms: at(0.5), p90Ms: at(0.9), p99Ms: at(0.99) };
}
