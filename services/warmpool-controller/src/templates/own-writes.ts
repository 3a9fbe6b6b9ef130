import type { KubeObject } from '@sandlot/kube';

interface Known<T> {
  /** resourceVersions that our writes replaced. */
  readonly outdated: Set<string>;
  readonly latest: T;
}

/**
 * Objects as our own writes left them, while the watch still shows an older version: without it, the next pass would write
 * the same again. A resourceVersion that we did not replace is newer, ours or not.
 */
export class OwnWrites<T extends KubeObject> {
  readonly #byKey = new Map<string, Known<T>>();

  /** The cached object, or the result of our last write if the cache is behind it. */
  view(key: string, cached: T): T {
    const known = this.#byKey.get(key);
    if (known?.outdated.has(cached.metadata.resourceVersion ?? '') === true) return known.latest;
    this.#byKey.delete(key);
    return cached;
  }

  /** The API server answered our write of `before` with `after`. */
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
