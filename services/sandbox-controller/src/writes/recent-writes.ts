import { annotations } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { keyOf } from '@sandlot/kube';
import type { KubeObject } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';

/** A cache that has not shown a write for this long is believed again, whatever it says. */
export const TRUST_MS = 5_000;

interface Remembered<T> {
  readonly value: T;
  readonly untilMs: number;
}

/**
 * What this process wrote and its caches do not show yet, so that no pass repeats a write because of a cache that lags.
 * Saves requests only: names chosen by us and UIDs in every write keep a stale pass harmless, and a restart may forget.
 */
export class RecentWrites {
  readonly #clock: Clock;
  readonly #created = new Map<string, Remembered<KubeObject>>();
  readonly #deletedUids = new Map<string, Remembered<true>>();
  readonly #published = new Map<string, Remembered<Sandbox>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  created(object: KubeObject): void {
    this.#created.set(this.#createdKey(object.kind, keyOf(object)), this.#remember(object));
  }

  /** A deletion of ours was accepted. Returns the object as it is then, terminating. */
  deleted<T extends KubeObject>(object: T): T {
    this.#deletedUids.set(object.metadata.uid ?? '', this.#remember(true));
    return this.#withDeletion(object);
  }

  /** The Sandbox as a write of ours returned it. */
  published(sandbox: Sandbox): void {
    this.#published.set(sandbox.metadata.uid ?? '', this.#remember(sandbox));
  }

  /** What the cache shows under `key`, or else what was created there. A pending deletion of ours counts as accepted. */
  latest<T extends KubeObject>(kind: string, key: string, cached: T | undefined): T | undefined {
    if (cached !== undefined) return this.#withDeletion(cached);
    // Objects are kept under their kind, so what is found here was created as a T.
    return this.#fresh(this.#created, this.#createdKey(kind, key)) as T | undefined;
  }

  /**
   * `cached` with the status and the Pod name of our own last write: nobody else writes them. The whole answer to that
   * write, when the cache shows the spec of an earlier generation.
   */
  latestSandbox(cached: Sandbox): Sandbox {
    const uid = cached.metadata.uid ?? '';
    const state = this.#fresh(this.#published, uid);
    if (state === undefined) return cached;
    if ((cached.metadata.generation ?? 0) < (state.metadata.generation ?? 0)) return state;
    const podName = state.metadata.annotations?.[annotations.podName];
    const others = Object.entries(cached.metadata.annotations ?? {}).filter(([key]) => key !== annotations.podName);
    const named = podName === undefined ? [] : [[annotations.podName, podName] as const];
    const metadata = { ...cached.metadata, annotations: Object.fromEntries([...others, ...named]) };
    return { ...cached, metadata, status: state.status };
  }

  /** To be called with every change of a cache: what it shows now needs no memory. */
  observed(
    kind: string,
    { key, old, next }: { key: string; old: KubeObject | undefined; next: KubeObject | undefined },
  ): void {
    this.#created.delete(this.#createdKey(kind, key));
    if (next === undefined) this.#deletedUids.delete(old?.metadata.uid ?? '');
    const uid = (next ?? old)?.metadata.uid ?? '';
    const state = this.#published.get(uid);
    if (state === undefined) return;
    if (next === undefined || next.metadata.resourceVersion === state.value.metadata.resourceVersion)
      this.#published.delete(uid);
  }

  #withDeletion<T extends KubeObject>(cached: T): T {
    const { metadata } = cached;
    if (metadata.deletionTimestamp !== undefined || this.#fresh(this.#deletedUids, metadata.uid ?? '') === undefined) {
      return cached;
    }
    return { ...cached, metadata: { ...metadata, deletionTimestamp: new Date(this.#clock.now()).toISOString() } };
  }

  #createdKey(kind: string | undefined, key: string): string {
    return `${kind ?? ''} ${key}`;
  }

  #remember<T>(value: T): Remembered<T> {
    return { value, untilMs: this.#clock.monotonic() + TRUST_MS };
  }

  #fresh<T>(map: Map<string, Remembered<T>>, key: string): T | undefined {
    const found = map.get(key);
    if (found === undefined || found.untilMs > this.#clock.monotonic()) return found?.value;
    map.delete(key);
    return undefined;
  }
}
