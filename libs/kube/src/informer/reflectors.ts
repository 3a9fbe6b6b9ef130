import type { Selection } from '../client/types.ts';
import type { KubeObject } from '../objects/object.ts';
import { Reflector } from './reflector.ts';
import type { ReflectorOptions, Sink } from './reflector.ts';

export interface ReflectorsOptions<T extends KubeObject> extends Omit<ReflectorOptions<T>, 'selection' | 'sink'> {
  readonly selection: Omit<Selection, 'namespace'>;
  /** Absent: all. */
  readonly namespaces: readonly string[] | undefined;
  /** Where the objects of a namespace go, or of all without one. */
  readonly sinkOf: (namespace: string | undefined) => Sink<T>;
}

interface Part<T extends KubeObject> {
  readonly namespace: string | undefined;
  readonly reflector: Reflector<T>;
}

/**
 * The reflectors of one informer: one for each namespace, or one for all. A namespace that the API server forbids to list
 * counts as listed, so that it does not keep the others waiting, unless it forbids all (ADR 28).
 */
export class Reflectors<T extends KubeObject> {
  readonly #parts: readonly Part<T>[];

  /** Throws for an empty list of namespaces. */
  constructor({ selection, namespaces, sinkOf, ...shared }: ReflectorsOptions<T>) {
    const all: readonly (string | undefined)[] = namespaces ?? [undefined];
    if (all.length === 0) throw new Error('an informer needs at least one namespace');
    this.#parts = all.map((namespace) => {
      const own = { selection: { ...selection, namespace }, sink: sinkOf(namespace) };
      return { namespace, reflector: new Reflector<T>({ ...shared, ...own }) };
    });
  }

  /** Whether the store has had a list of every namespace. */
  hasListed(): boolean {
    return this.#hasAll(
      (one) => one.hasListed(),
      (one) => one.isForbidden(),
    );
  }

  /** Whether the store shows consistent lists of all namespaces that were requested at or after `sinceMs` (monotonic). */
  isFresh(sinceMs: number): boolean {
    return this.#hasAll(
      (one) => one.isFresh(sinceMs),
      (one) => one.isForbidden(sinceMs),
    );
  }

  /** Starts consistent lists of the namespaces of which the store shows none that was requested at or after `sinceMs`. */
  relist(sinceMs: number): void {
    for (const { reflector } of this.#parts) if (!reflector.isFresh(sinceMs)) reflector.relist(sinceMs);
  }

  /** The namespaces of which the API server forbade the last list. */
  listForbidden(): readonly string[] {
    return this.#parts.flatMap(({ namespace, reflector }) =>
      namespace !== undefined && reflector.isForbidden() ? [namespace] : [],
    );
  }

  /** Milliseconds since the last event of the namespace that has been silent for the longest time. */
  lastEventAgeMs(): number {
    return Math.max(...this.#parts.map(({ reflector }) => reflector.lastEventAgeMs()));
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#parts.map(({ reflector }) => reflector.run(signal)));
  }

  /** Whether one holds for each, and the first for at least one of them. */
  #hasAll(isShown: (one: Reflector<T>) => boolean, isForbidden: (one: Reflector<T>) => boolean): boolean {
    const all = this.#parts.map(({ reflector }) => reflector);
    return all.some(isShown) && all.every((one) => isShown(one) || isForbidden(one));
  }
}
