import type { KubeObject } from '@sandlot/kube';

interface Known<T> {
  /** Versions that our writes have replaced. */
  readonly outdated: Set<string>;
  readonly latest: T;
}

/**
 * Objects as our own writes left them, while the watch still shows what they were before: the next pass would write the
 * same again. A version that is not one of those replaced is news, whether it is ours or not.
 */
export class OwnWrites<T extends KubeObject> {
  readonly #byKey = new Map<string, Known<T>>();

  /** The cached object, or what came of it by our writes. */
  view(key: string, cached: T): T {
    const known = this.#byKey.get(key);
    if (known?.outdated.has(cached.metadata.resourceVersion ?? '') === true) return known.latest;
    this.#byKey.delete(key);
    return cached;
  }

  /** A write of ours was answered. */
  record(key: string, before: T, after: T): void {
    const { resourceVersion = '' } = before.metadata;
    if (after.metadata.resourceVersion === resourceVersion) return;
    const outdated = this.#byKey.get(key)?.outdated ?? new Set();
    this.#byKey.set(key, { outdated: outdated.add(resourceVersion), latest: after });
  }

  forget(key: string): void {
    this.#byKey.delete(key);
  }
}
