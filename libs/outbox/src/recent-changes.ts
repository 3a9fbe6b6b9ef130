import type { Change as Shown, KubeObject } from '@sandlot/kube';
import { formatFactName } from './fact.ts';
import type { FactSource } from './fact.ts';

/** One change of an object; `next` is undefined at its end. */
export type Change<T> = Pick<Shown<T>, 'old' | 'next'>;

/** Longer than a change of the leader takes, and shorter than the time in which NATS drops an event that it has. */
const KEPT_MS = 30_000;
/** They keep states of objects from the garbage collector, some kilobytes each. */
const MOST = 5_000;

/**
 * The last changes that a process sees while another one publishes. It may be the next to publish, and a state that came and went
 * between the two would leave no event.
 */
export class RecentChanges<T extends KubeObject> {
  readonly #source: Pick<FactSource<T>, 'listFacts'>;
  /** The oldest first. */
  readonly #kept = new Set<Change<T> & { readonly atMs: number }>();

  constructor(source: Pick<FactSource<T>, 'listFacts'>) {
    this.#source = source;
  }

  add(change: Change<T>, nowMs: number): void {
    if (this.#addsFacts(change)) this.#kept.add({ ...change, atMs: nowMs });
    this.#prune(nowMs);
  }

  /** Returns the changes, the oldest first, and forgets them. */
  take(nowMs: number): readonly Change<T>[] {
    this.#prune(nowMs);
    const changes = [...this.#kept];
    this.#kept.clear();
    return changes;
  }

  /** Most changes of an object say nothing new. */
  #addsFacts({ old, next }: Change<T>): boolean {
    if (old === undefined || next === undefined || old.metadata.uid !== next.metadata.uid) return true;
    const before = new Set(this.#source.listFacts(old).map(formatFactName));
    return this.#source.listFacts(next).some((fact) => !before.has(formatFactName(fact)));
  }

  #prune(nowMs: number): void {
    for (const change of this.#kept) {
      if (this.#kept.size <= MOST && nowMs - change.atMs <= KEPT_MS) return;
      this.#kept.delete(change);
    }
  }
}
