import { isNotFound, keyOf } from '@sandlot/kube';
import type { Change, Informer, KubeObject } from '@sandlot/kube';
import type { Clock, Timer } from '@sandlot/std';

/** How long an answer of the API server counts for more than a watch that has not shown it. */
export const KEPT_MS = 5_000;
const MAX_KEPT = 10_000;

interface Kept<T> {
  readonly object: T | undefined;
  readonly uid: string;
  readonly untilMs: number;
  /** The moment it came, in the order of calls and answers. */
  readonly at: number;
}

interface Call {
  /** The moment it began, in the order of calls and answers. */
  readonly at: number;
  readonly kind: 'read' | 'write';
  /** The version that the watch had shown last before it began. */
  readonly before: string;
  /** Versions that the watch has shown before it was over, and uids of which it has shown the end. */
  readonly seen: Set<string>;
}

export interface FreshOptions<T> {
  readonly informer: Pick<Informer<T>, 'store' | 'onChange' | 'onList'>;
  readonly clock: Clock;
  /**
   * Nobody knows any more whether what is kept under the key or what the informer shows is newer: a list has skipped versions, or
   * the watch has been silent for too long. To be read again.
   */
  readonly onDoubt: (key: string) => void;
}

/**
 * The objects of an informer, ahead of it by what this process has itself written or read since: whoever got an answer must
 * find it in the next one (E2B contract, read-after-write). Versions tell no order, so an answer is kept until the watch shows
 * that very version. A list may skip it, which is why it is asked again then, and after 5 s.
 */
export class Fresh<T extends KubeObject> {
  readonly #informer: FreshOptions<T>['informer'];
  readonly #clock: Clock;
  readonly #onDoubt: (key: string) => void;
  readonly #kept = new Map<string, Kept<T>>();
  readonly #calls = new Map<string, Set<Call>>();
  #moment = 0;
  #expiry: Timer | undefined;
  #isClosed = false;

  constructor({ informer, clock, onDoubt }: FreshOptions<T>) {
    this.#informer = informer;
    this.#clock = clock;
    this.#onDoubt = onDoubt;
    informer.onChange((change) => this.#shown(change));
    informer.onList(() => this.#listed());
  }

  get(key: string): T | undefined {
    const kept = this.#current(key);
    return kept === undefined ? this.#informer.store.get(key) : kept.object;
  }

  /** Objects under an index of the informer; those that are kept count for all values that `fits` lets through. */
  *all(index: readonly [name: string, value: string], fits: (object: T) => boolean): Iterable<T> {
    for (const shown of this.#informer.store.byIndex(...index)) {
      const object = this.get(keyOf(shown));
      if (object !== undefined) yield object;
    }
    for (const [key, { object }] of this.#kept) {
      if (object === undefined || this.#current(key) === undefined || !fits(object)) continue;
      if (this.#informer.store.get(key) === undefined) yield object;
    }
  }

  /** Runs a write of one object and keeps its answer until the watch shows it. */
  write(key: string, call: () => Promise<T>): Promise<T> {
    return this.#through(key, 'write', call);
  }

  /** Runs a consistent read of one object and keeps its answer until the watch shows it. */
  read(key: string, call: () => Promise<T>): Promise<T> {
    return this.#through(key, 'read', call);
  }

  /** It is gone, whatever the watch says for a while. */
  gone(object: T): void {
    const key = keyOf(object);
    const { uid = '' } = object.metadata;
    if (this.#informer.store.get(key)?.metadata.uid === uid) this.#keep(key, undefined, uid);
    else this.#kept.delete(key);
  }

  /** Nobody asks any more: no timer is left that would keep the process alive. */
  close(): void {
    this.#isClosed = true;
    this.#expiry?.cancel();
    this.#expiry = undefined;
  }

  async #through(key: string, kind: Call['kind'], send: () => Promise<T>): Promise<T> {
    const before = versionOf(this.#informer.store.get(key));
    const call: Call = { at: (this.#moment += 1), kind, before, seen: new Set([before]) };
    const running = this.#calls.get(key) ?? new Set();
    this.#calls.set(key, running.add(call));
    try {
      const object = await send();
      this.#answered(key, call, object);
      return object;
    } catch (error) {
      if (isNotFound(error)) this.#answered(key, call, undefined);
      throw error;
    } finally {
      running.delete(call);
      if (running.size === 0) this.#calls.delete(key);
    }
  }

  #answered(key: string, { at, kind, before, seen }: Call, object: T | undefined): void {
    // What came while a read was under way may be newer than its answer; a write's own answer has to be found, at least.
    const isOlder = kind === 'read' && (this.#kept.get(key)?.at ?? 0) > at;
    if (isOlder) return;
    if (object === undefined) {
      this.#missed(key, before);
      return;
    }
    const { uid = '' } = object.metadata;
    if (seen.has(versionOf(object)) || seen.has(uid)) this.#kept.delete(key);
    else this.#keep(key, object, uid);
  }

  /** There was nothing: what the watch shows is gone, unless it has shown it since the call began. */
  #missed(key: string, before: string): void {
    const shown = this.#informer.store.get(key);
    if (shown !== undefined && versionOf(shown) === before) this.gone(shown);
    else this.#kept.delete(key);
  }

  #current(key: string): Kept<T> | undefined {
    const kept = this.#kept.get(key);
    return kept !== undefined && kept.untilMs > this.#clock.monotonic() ? kept : undefined;
  }

  #keep(key: string, object: T | undefined, uid: string): void {
    this.#kept.delete(key);
    this.#kept.set(key, { object, uid, untilMs: this.#clock.monotonic() + KEPT_MS, at: (this.#moment += 1) });
    const [oldest = ''] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(oldest);
    if (!this.#isClosed) this.#expiry ??= this.#clock.setTimeout(() => this.#expire(), KEPT_MS);
  }

  /** All are kept equally long, so the first ones expire first. */
  #expire(): void {
    const nowMs = this.#clock.monotonic();
    const expired: string[] = [];
    let nextMs: number | undefined;
    for (const [key, { untilMs }] of this.#kept) {
      if (untilMs > nowMs) {
        nextMs = untilMs - nowMs;
        break;
      }
      expired.push(key);
    }
    for (const key of expired) this.#kept.delete(key);
    this.#expiry = nextMs === undefined ? undefined : this.#clock.setTimeout(() => this.#expire(), nextMs);
    for (const key of expired) this.#onDoubt(key);
  }

  #shown({ key, old, next }: Change<T>): void {
    const version = next === undefined ? (old?.metadata.uid ?? '') : versionOf(next);
    for (const { seen } of this.#calls.get(key) ?? []) seen.add(version);
    const kept = this.#kept.get(key);
    if (kept !== undefined && isCaughtUp(kept, old, next)) this.#kept.delete(key);
  }

  /** Those of the versions it shows are done with already. */
  #listed(): void {
    for (const key of [...this.#kept.keys()]) this.#onDoubt(key);
  }
}

/**
 * Whether the watch shows what is kept, or what came after it. An object of the same name that is not this one came before:
 * the watch shows all versions of a name in their order, and has to show this one first.
 */
function isCaughtUp<T extends KubeObject>({ object, uid }: Kept<T>, old: T | undefined, next: T | undefined): boolean {
  if (next === undefined) return old?.metadata.uid === uid;
  return object === undefined ? next.metadata.uid !== uid : versionOf(next) === versionOf(object);
}

function versionOf(object: KubeObject | undefined): string {
  return object?.metadata.resourceVersion ?? '';
}
