import type { Clock } from '@sandlot/std';
import { isNotFound } from '../errors.ts';
import type { Change, Informer } from '../informer/informer.ts';
import { Index } from '../informer/store.ts';
import type { Store } from '../informer/store.ts';
import { getKey } from '../objects/object.ts';
import type { KubeObject } from '../objects/object.ts';
import { ExpiringMap } from './expiring-map.ts';

/** How many older versions of an object it remembers. Forgetting one can cause an unnecessary `onDoubt`, nothing worse. */
const MAX_OLDER = 8;

export interface OwnWritesOptions<T extends KubeObject> {
  readonly informer: Pick<Informer<T>, 'store' | 'indexNames' | 'indexValues' | 'transform' | 'onChange' | 'onList'>;
  readonly clock: Clock;
  /** How long an answer takes precedence over a watch that has not shown it, in ms. Default 5,000. */
  readonly keepMs?: number | undefined;
  /** How many answers it remembers; a new one displaces the oldest. Default 10,000. */
  readonly maxKept?: number | undefined;
  /**
   * Called when either the remembered answer (`object`; undefined for a deletion) or the informer's object may be the newer
   * one. This happens after a list that may have skipped versions (the answer is still remembered), and when the watch has
   * not shown the answer within `keepMs` (it is forgotten). Read the object again, or forget it. Default: forget it.
   */
  readonly onDoubt?: ((key: string, object: T | undefined) => void) | undefined;
}

/**
 * An overlay on an informer: it remembers each answer of the API server to this process until the watch shows it, so that a
 * pass sees its own writes at once. resourceVersions have no order, so the watch "shows" an answer when it delivers exactly
 * that version, or the deletion of that object. The overlay ends with the process; correctness rests on guarded writes, not on it.
 */
export interface OwnWrites<T extends KubeObject> extends Pick<Store<T>, 'get' | 'listByIndex'>, Disposable {
  /** Runs a write of one object and remembers its answer until the watch shows it. */
  write(key: string, call: () => Promise<T>): Promise<T>;
  /** Runs a consistent read of one object and remembers its answer: undefined and `NotFound` mean that the object is gone. */
  read<R extends T | undefined>(key: string, call: () => Promise<R>): Promise<R>;
  /** Call it when the API server has accepted the deletion. Returns the object with a deletionTimestamp, as `get` shows it now. */
  recordDelete(object: T): T;
  /** Call it when the object with this uid no longer exists. `get` hides it, even while the watch still shows it. */
  recordGone(object: T): void;
  /** Drops the remembered answer, so that `get` shows the informer's object. Recorded deletions stay, because they are final. */
  forget(key: string): void;
  /** Ends the expiry timer, so that it does not keep the process alive. */
  [Symbol.dispose](): void;
}

export function createOwnWrites<T extends KubeObject>(options: OwnWritesOptions<T>): OwnWrites<T> {
  return new OverlaidInformer(options);
}

interface Kept<T> {
  readonly object: T;
  /** Answers of concurrent writes. Only the watch shows which one came last. */
  readonly rivals: readonly T[];
  /** Versions that are certainly older than the object. */
  readonly older: readonly string[];
  /** When the answer came: a count of the begins and answers of all calls. */
  readonly at: number;
}

/** A call in flight. */
interface Call {
  /** When it began: a count of the begins and answers of all calls. */
  readonly at: number;
  readonly kind: 'read' | 'write';
  /** The version in the informer when it began. */
  readonly before: string;
  /** The uids of this name that the informer or the overlay held when it began. */
  readonly uids: readonly string[];
  /** The versions that the watch has delivered since then (and `before`), and the uids whose deletion it has delivered. */
  readonly seen: string[];
  /** How many lists the informer had finished when it began. */
  readonly lists: number;
}

interface Ended {
  readonly key: string;
  /** When the object began to terminate, RFC 3339. Undefined once it is gone. */
  readonly terminatingSince: string | undefined;
}

class OverlaidInformer<T extends KubeObject> implements OwnWrites<T> {
  readonly #informer: OwnWritesOptions<T>['informer'];
  readonly #clock: Clock;
  readonly #onDoubt: (key: string, object: T | undefined) => void;
  readonly #kept: ExpiringMap<Kept<T>>;
  /** By uid. The API server never reuses one, so an entry cannot hide another object. */
  readonly #ended: ExpiringMap<Ended>;
  readonly #indexes = new Map<string, Index<T>>();
  readonly #calls = new Map<string, Set<Call>>();
  readonly #handlers: readonly Disposable[];
  #moment = 0;
  #lists = 0;

  constructor({ informer, clock, keepMs = 5_000, maxKept: maxSize = 10_000, onDoubt }: OwnWritesOptions<T>) {
    this.#informer = informer;
    this.#clock = clock;
    this.#onDoubt = onDoubt ?? ((key, object) => object !== undefined && this.forget(key));
    this.#kept = new ExpiringMap({ clock, keepMs, maxSize, onExpired: (key, kept) => this.#handleExpiry(key, kept) });
    this.#ended = new ExpiringMap({ clock, keepMs, maxSize, onExpired: (_, { key }) => this.#onDoubt(key, undefined) });
    for (const name of informer.indexNames) {
      this.#indexes.set(name, new Index((object) => informer.indexValues(name, object)));
    }
    this.#handlers = [
      informer.onChange((change) => this.#handleChange(change)),
      informer.onList(() => this.#handleList()),
    ];
  }

  get(key: string): T | undefined {
    const object = this.#kept.get(key)?.object ?? this.#informer.store.get(key);
    return object === undefined ? undefined : this.#unlessEnded(object);
  }

  listByIndex(index: string, value: string): Iterable<T> {
    const isEmpty = this.#kept.size === 0 && this.#ended.size === 0;
    return isEmpty ? this.#informer.store.listByIndex(index, value) : this.#overlaid(index, value);
  }

  write(key: string, call: () => Promise<T>): Promise<T> {
    return this.#through(key, 'write', call);
  }

  read<R extends T | undefined>(key: string, call: () => Promise<R>): Promise<R> {
    return this.#through(key, 'read', call);
  }

  recordDelete(object: T): T {
    const terminatingSince = new Date(this.#clock.now()).toISOString();
    this.#markEnded(object.metadata.uid, { key: getKey(object), terminatingSince });
    return terminating(object, terminatingSince);
  }

  recordGone(object: T): void {
    this.#markEnded(object.metadata.uid, { key: getKey(object), terminatingSince: undefined });
  }

  forget(key: string): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    this.#kept.delete(key);
    this.#moveIndexes(key, kept.object, undefined);
  }

  [Symbol.dispose](): void {
    for (const handler of this.#handlers) handler[Symbol.dispose]();
    this.#kept.close();
    this.#ended.close();
  }

  *#overlaid(index: string, value: string): Iterable<T> {
    for (const shown of this.#informer.store.listByIndex(index, value)) {
      if (this.#kept.get(getKey(shown)) !== undefined) continue;
      const object = this.#unlessEnded(shown);
      if (object !== undefined) yield object;
    }
    for (const key of this.#indexes.get(index)?.keys(value) ?? []) {
      const object = this.get(key);
      if (object !== undefined) yield object;
    }
  }

  #unlessEnded(object: T): T | undefined {
    const ended = this.#ended.size === 0 ? undefined : this.#ended.get(object.metadata.uid ?? '');
    if (ended === undefined) return object;
    return ended.terminatingSince === undefined ? undefined : terminating(object, ended.terminatingSince);
  }

  async #through<R extends T | undefined>(key: string, kind: Call['kind'], send: () => Promise<R>): Promise<R> {
    const call = this.#begin(key, kind);
    try {
      const answer = await send();
      if (answer === undefined) this.#recordAbsence(key, call);
      else this.#recordAnswer(key, call, answer);
      return answer;
    } catch (error) {
      if (isNotFound(error)) this.#recordAbsence(key, call);
      throw error;
    } finally {
      this.#end(key, call);
    }
  }

  #begin(key: string, kind: Call['kind']): Call {
    const shown = this.#informer.store.get(key);
    const kept = this.#kept.get(key);
    const before = getVersion(shown);
    const known = [shown, kept?.object, ...(kept?.rivals ?? [])];
    const uids = known.flatMap((object) => object?.metadata.uid ?? []);
    const call: Call = { at: (this.#moment += 1), kind, before, uids, seen: [before], lists: this.#lists };
    const running = this.#calls.get(key);
    if (running === undefined) this.#calls.set(key, new Set([call]));
    else running.add(call);
    return call;
  }

  #end(key: string, call: Call): void {
    const running = this.#calls.get(key);
    running?.delete(call);
    if (running?.size === 0) this.#calls.delete(key);
  }

  #recordAnswer(key: string, call: Call, object: T): void {
    const overlaps = this.#overlaps(key, call);
    // An answer that came during a read may be newer than what the read returns. A write's own answer must always be visible.
    if ((overlaps && call.kind === 'read') || this.#unlessEnded(object) === undefined) return;
    if (!this.#isPast(call, object)) this.#remember(key, call, object);
    // The kept answer came before this call began, so it is older than the answer that the watch has already shown.
    else if (!overlaps) this.forget(key);
  }

  /** Whether the kept answer came while the call ran. */
  #overlaps(key: string, call: Call): boolean {
    return (this.#kept.get(key)?.at ?? 0) > call.at;
  }

  #remember(key: string, call: Call, object: T): void {
    const overlaps = this.#overlaps(key, call);
    const before = this.#kept.get(key);
    const answers = before === undefined ? [] : listAnswers(before);
    const shown = getVersion(this.#informer.store.get(key));
    const isSkippable = this.#mayBeSkipped(call, shown);
    const rivals = overlaps ? answers.filter((rival) => !isSame(rival, object)) : [];
    const older = overlaps ? [] : [...(before?.older ?? []), ...answers.map(getVersion)];
    if (!isSkippable && shown !== '') older.push(shown);
    this.#keep(key, { object: this.#informer.transform(object), rivals, older: older.slice(-MAX_OLDER) });
    if (isSkippable) this.#onDoubt(key, object);
  }

  /** Whether a list during the call may have skipped the version of its answer. */
  #mayBeSkipped(call: Call, shown: string): boolean {
    return call.lists !== this.#lists && (shown === '' || shown !== call.before);
  }

  /** Whether the watch has already delivered this answer or the deletion of its object. */
  #isPast({ seen }: Call, object: T): boolean {
    return seen.includes(getVersion(object)) || seen.includes(object.metadata.uid ?? '');
  }

  /** No object has this name now, so every uid that was known when the call began is gone for good. */
  #recordAbsence(key: string, { uids, seen }: Call): void {
    for (const uid of uids) if (!seen.includes(uid)) this.#markEnded(uid, { key, terminatingSince: undefined });
  }

  #markEnded(uid: string | undefined, ended: Ended): void {
    if (uid === undefined) return;
    this.#ended.set(uid, ended);
    const kept = this.#kept.get(ended.key);
    if (kept === undefined || ended.terminatingSince !== undefined) return;
    this.#leaveOut(ended.key, kept, ({ metadata }) => metadata.uid === uid);
  }

  #keep(key: string, { object, rivals, older }: Omit<Kept<T>, 'at'>): void {
    this.#moveIndexes(key, this.#kept.get(key)?.object, object);
    this.#kept.set(key, { object, rivals, older, at: (this.#moment += 1) });
  }

  #handleExpiry(key: string, { object }: Kept<T>): void {
    this.#moveIndexes(key, object, undefined);
    this.#onDoubt(key, object);
  }

  #handleChange({ key, old, next }: Change<T>): void {
    const sign = next === undefined ? (old?.metadata.uid ?? '') : getVersion(next);
    if (next === undefined) this.#ended.delete(sign);
    for (const { seen } of this.#calls.get(key) ?? []) seen.push(sign);
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    // The watch delivers all versions of a name in order, so a version that is not among the answers is older than them.
    const isPast = ({ metadata }: T): boolean =>
      (next === undefined ? metadata.uid : metadata.resourceVersion) === sign;
    if (!this.#leaveOut(key, kept, isPast)) this.forget(key);
  }

  /** Drops the answers that the watch has passed. Returns false, and changes nothing, if none would remain. */
  #leaveOut(key: string, kept: Kept<T>, isPast: (answer: T) => boolean): boolean {
    const rest = listAnswers(kept).filter((answer) => !isPast(answer));
    const object = rest.pop();
    if (object === undefined) return false;
    if (rest.length === kept.rivals.length) return true;
    this.#moveIndexes(key, kept.object, object);
    this.#kept.update(key, { ...kept, object, rivals: rest });
    return true;
  }

  /** Keeps an answer when the list shows a version known to be older, because the watch continues from there. Doubts all others. */
  #handleList(): void {
    this.#lists += 1;
    for (const key of [...this.#kept.keys()]) {
      const kept = this.#kept.get(key);
      const shown = getVersion(this.#informer.store.get(key));
      if (kept !== undefined && !kept.older.includes(shown)) this.#onDoubt(key, kept.object);
    }
  }

  #moveIndexes(key: string, old: T | undefined, next: T | undefined): void {
    for (const index of this.#indexes.values()) index.move(key, old, next);
  }
}

/** Lists all answers; the one that `get` returns comes last. */
function listAnswers<T>({ rivals, object }: Kept<T>): T[] {
  return [...rivals, object];
}

function terminating<T extends KubeObject>(object: T, since: string): T {
  const { metadata } = object;
  return metadata.deletionTimestamp === undefined
    ? { ...object, metadata: { ...metadata, deletionTimestamp: since } }
    : object;
}

function isSame(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.uid === b.metadata.uid && getVersion(a) === getVersion(b);
}

/** Returns '' for an absent object. */
function getVersion(object: KubeObject | undefined): string {
  return object?.metadata.resourceVersion ?? '';
}
