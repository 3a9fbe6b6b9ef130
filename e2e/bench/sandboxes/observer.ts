import { findCondition, sandboxes } from '@sandlot/api-types';
import { createInformer, getKey, pods } from '@sandlot/kube';
import type { Condition, KubeClient, KubeObject } from '@sandlot/kube';

/** When a watch first showed objects as Ready, in milliseconds of `performance.now()`. */
class ReadyTimes {
  readonly #seen = new Map<string, number>();
  readonly #waiting = new Map<string, (ms: number) => void>();

  note(object: KubeObject & { status?: { conditions?: Condition[] | undefined } | undefined }): void {
    const key = getKey(object);
    if (this.#seen.has(key) || findCondition(object.status?.conditions, 'Ready')?.status !== 'True') return;
    const nowMs = performance.now();
    this.#seen.set(key, nowMs);
    this.#waiting.get(key)?.(nowMs);
    this.#waiting.delete(key);
  }

  /** Waits until the object with this key is Ready. */
  of(key: string): Promise<number> {
    const known = this.#seen.get(key);
    if (known !== undefined) return Promise.resolve(known);
    return new Promise((resolve) => this.#waiting.set(key, resolve));
  }
}

/** Watches all Pods and all Sandboxes, as a client would. */
export interface Observer extends AsyncDisposable {
  readonly pods: Pick<ReadyTimes, 'of'>;
  readonly sandboxes: Pick<ReadyTimes, 'of'>;
  /** The current number of Pods. */
  podCount(): number;
}

/** Opens both watches. */
export async function observe(client: KubeClient): Promise<Observer> {
  const times = { pods: new ReadyTimes(), sandboxes: new ReadyTimes() };
  const stop = new AbortController();
  const podInformer = createInformer({ client, resource: pods });
  const sandboxInformer = createInformer({ client, resource: sandboxes });
  podInformer.onChange(({ next }) => next !== undefined && times.pods.note(next));
  sandboxInformer.onChange(({ next }) => next !== undefined && times.sandboxes.note(next));
  const running = Promise.all([podInformer.run(stop.signal), sandboxInformer.run(stop.signal)]);
  await Promise.all([podInformer.waitUntilSynced(), sandboxInformer.waitUntilSynced()]);
  return {
    ...times,
    podCount: () => podInformer.store.size,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}
