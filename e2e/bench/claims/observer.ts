import { findCondition, sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim, SandboxClaimStatus } from '@sandlot/api-types';
import { createInformer } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { pause } from './shapes.ts';
import { NAMESPACE } from './stage.ts';

const LIMIT_MS = 180_000;
/** How often the end of a scenario is checked. The watch takes the times. */
const POLL_MS = 10;

/** The times of one claim, in milliseconds of the monotonic clock. */
export interface ClaimTimes {
  readonly sentMs: number;
  readyMs?: number;
  sandbox?: string | undefined;
}

/** Records when a watch shows claims as Ready. */
export class Observer implements AsyncDisposable {
  readonly times = new Map<string, ClaimTimes>();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  /** Waiters by claim, so that each change notifies only one of a thousand. */
  readonly #waiting = new Map<string, () => void>();
  #ready = 0;

  private constructor(running: (signal: AbortSignal) => Promise<void>) {
    this.#running = running(this.#stop.signal);
  }

  static async watch(client: KubeClient, namespaces: readonly string[] = [NAMESPACE]): Promise<Observer> {
    const informer = createInformer({ client, resource: sandboxClaims, namespaces });
    const observer = new Observer((signal) => informer.run(signal));
    informer.onChange(({ next }) => {
      if (next !== undefined) observer.#see(next);
    });
    await informer.waitUntilSynced();
    return observer;
  }

  /** Records that a claim is sent now. Of a batch claim, each of its `replicas` is timed. */
  recordSending(name: string, replicas = 1): void {
    const sentMs = performance.now();
    for (let slot = 0; slot < replicas; slot += 1) this.times.set(timeKey(name, slot), { sentMs });
  }

  /** The times of the claims whose name is chosen. */
  listTimes(isChosen: (claim: string) => boolean): readonly ClaimTimes[] {
    return [...this.times].flatMap(([key, times]) => (isChosen(key.split('/')[0] ?? '') ? times : []));
  }

  get readyCount(): number {
    return this.#ready;
  }

  /** Waits until the claim is Ready. Throws after `LIMIT_MS`: a scenario must end. */
  async waitForReady(name: string): Promise<void> {
    if (this.times.get(timeKey(name, 0))?.readyMs !== undefined) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(this.#late()), LIMIT_MS);
      this.#waiting.set(name, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Waits until that many claims are Ready. Throws after `LIMIT_MS`. */
  async waitForReadyCount(count: number): Promise<void> {
    const deadlineMs = performance.now() + LIMIT_MS;
    while (this.#ready < count) {
      if (performance.now() > deadlineMs) throw this.#late();
      await pause(POLL_MS);
    }
  }

  #late(): Error {
    return new Error(`${this.#ready} of ${this.times.size} claims were Ready after ${LIMIT_MS} ms`);
  }

  #see(claim: SandboxClaim): void {
    const { ready, names } = buildDelivery(claim);
    for (let slot = 0; slot < Math.max(ready, names.length); slot += 1) {
      const known = this.times.get(timeKey(claim.metadata.name ?? '', slot));
      if (known === undefined) continue;
      known.sandbox ??= names[slot];
      if (slot < ready && known.readyMs === undefined) {
        known.readyMs = performance.now();
        this.#ready += 1;
      }
    }
    if (ready > 0) this.#notify(claim.metadata.name ?? '');
  }

  #notify(name: string): void {
    this.#waiting.get(name)?.();
    this.#waiting.delete(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

interface Delivery {
  readonly ready: number;
  readonly names: readonly (string | undefined)[];
}

/** A batch claim counts its Ready Sandboxes; a single claim has a condition. */
function buildDelivery({ spec, status }: SandboxClaim): Delivery {
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

/** The latencies of many claims. */
export interface Latencies {
  /** From the first claim sent until the last one is Ready. */
  readonly allReadyMs: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
}

export function buildLatencies(times: Iterable<ClaimTimes>): Latencies {
  const all = [...times];
  const each = all.map(({ sentMs, readyMs = Infinity }) => readyMs - sentMs).sort((a, b) => a - b);
  const at = (share: number): number => each[Math.max(0, Math.ceil(share * each.length) - 1)] ?? 0;
  const begin = Math.min(...all.map(({ sentMs }) => sentMs));
  const end = Math.max(...all.map(({ readyMs = Infinity }) => readyMs));
  return { allReadyMs: end - begin, p50Ms: at(0.5), p90Ms: at(0.9), p99Ms: at(0.99) };
}
