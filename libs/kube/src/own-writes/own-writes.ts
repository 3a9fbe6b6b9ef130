import type { Clock } from '@sandlot/std';
import { isNotFound } from '../errors.ts';
import type { Change, Informer } from '../informer/informer.ts';
import { Index } from '../informer/store.ts';
import type { Store } from '../informer/store.ts';
import { getKey } from '../objects/object.ts';
import type { KubeObject } from '../objects/object.ts';
import { ExpiringMap } from './expiring-map.ts';

/** Versions that are remembered as older than an answer; without the rest a list causes a doubt too many, no harm. */
const MAX_OLDER = 8;

export interface OwnWritesOptions<T extends KubeObject> {
  readonly informer: Pick<Informer<T>, 'store' | 'indexNames' | 'indexValues' | 'transform' | 'onChange' | 'onList'>;
  readonly clock: Clock;
  /** How long an answer counts for more than a watch that has not shown it. Default 5,000 ms. */
  readonly keepMs?: number | undefined;
  /** How many answers are remembered; the oldest ones give way. Default 10,000. */
  readonly maxKept?: number | undefined;
  /**
   * Called when it is unknown whether the remembered answer (`object`; undefined: a deletion) or the informer's object is
   * newer: after a list that may have skipped versions (the answer is still remembered), or when the watch has not shown the
   * answer in time (it is forgotten). Read the object again, or forget it. Default: forget the object.
   */
  readonly onDoubt?: ((key: string, object: T | undefined) => void) | undefined;
}

/**
 * An informer's objects, ahead of it by what this process has written, read or deleted itself: an overlay that remembers
 * each answer of the API server until the watch shows it. resourceVersions have no order, so "shows it" means that very
 * version, or the end of that object. Lost with the process, and never needed for correctness: guards in writes are.
 */
export interface OwnWrites<T extends KubeObject> extends Pick<Store<T>, 'get' | 'listByIndex'>, Disposable {
  /** Runs a write of one object and remembers its answer until the watch shows it. */
  write(key: string, call: () => Promise<T>): Promise<T>;
  /** Runs a consistent read of one object, and remembers its answer too: undefined and `NotFound` mean that it is gone. */
  read<R extends T | undefined>(key: string, call: () => Promise<R>): Promise<R>;
  /** The API server has accepted the object's deletion. Returns the object as terminating, which is how it is found now. */
  recordDelete(object: T): T;
  /** This incarnation of the object does not exist any more, whatever the watch still shows. */
  recordGone(object: T): void;
  /** Believes the informer again. Recorded deletions stay: they are final. */
  forget(key: string): void;
  /** Ends the expiry timer, so that it does not keep the process alive. */
  [Symbol.dispose](): void;
}

export function createOwnWrites<T extends KubeObject>(options: OwnWritesOptions<T>): OwnWrites<T> {
  return new OverlaidInformer(options);
}

interface Kept<T> {
  readonly object: T;
  /** Answers of writes that ran at the same time: only the watch shows which one was the last. */
  readonly rivals: readonly T[];
  /** Versions that certainly came before the object. */
  readonly older: readonly string[];
  /** When the answer came, in the order in which calls begin and answers come. */
  readonly at: number;
}

/** A call in flight. */
interface Call {
  /** When it began, in the order in which calls begin and answers come. */
  readonly at: number;
  readonly kind: 'read' | 'write';
  /** The version that the informer showed when it began. */
  readonly before: string;
  /** Incarnations that were known when it began. */
  readonly uids: readonly string[];
  /** Versions that the watch has shown since then (`before` included), and uids whose end it has shown. */
  readonly seen: string[];
  /** How many lists there were before it began. */
  readonly lists: number;
}

interface Ended {
  readonly key: string;
  /** Of an object that is only terminating: since when, RFC 3339. */
  readonly terminatingSince: string | undefined;
}

class OverlaidInformer<T extends KubeObject> implements OwnWrites<T> {
  readonly #informer: OwnWritesOptions<T>['informer'];
  readonly #clock: Clock;
  readonly #onDoubt: (key: string, object: T | undefined) => void;
  readonly #kept: ExpiringMap<Kept<T>>;
  /** By uid, which is never used again: nothing else can be hidden by it. */
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
    // What came while a read was under way may be newer than its answer; a write's own answer has to be found.
    if ((overlaps && call.kind === 'read') || this.#unlessEnded(object) === undefined) return;
    if (!this.#isPast(call, object)) this.#remember(key, call, object);
    // What was kept before this call began is older than its answer.
    else if (!overlaps) this.forget(key);
  }

  /** Whether the answer that is kept came while the call ran. */
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

  /** Whether a list during the call may have replaced its answer before it came. */
  #mayBeSkipped(call: Call, shown: string): boolean {
    return call.lists !== this.#lists && (shown === '' || shown !== call.before);
  }

  /** Whether the watch is at this answer, or beyond it. */
  #isPast({ seen }: Call, object: T): boolean {
    return seen.includes(getVersion(object)) || seen.includes(object.metadata.uid ?? '');
  }

  /** There is nothing under the key, so what was known before the call is gone for good. */
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
    // An object of this name that is none of those came before them: the watch shows all versions of a name in order.
    const isPast = ({ metadata }: T): boolean =>
      (next === undefined ? metadata.uid : metadata.resourceVersion) === sign;
    if (!this.#leaveOut(key, kept, isPast)) this.forget(key);
  }

  /** Leaves out answers, unless none would be left: then it changes nothing and says false. */
  #leaveOut(key: string, kept: Kept<T>, isPast: (answer: T) => boolean): boolean {
    const rest = listAnswers(kept).filter((answer) => !isPast(answer));
    const object = rest.pop();
    if (object === undefined) return false;
    if (rest.length === kept.rivals.length) return true;
    this.#moveIndexes(key, kept.object, object);
    this.#kept.update(key, { ...kept, object, rivals: rest });
    return true;
  }

  /** What the list shows is done with already. Where it shows an older version, the watch goes on from there. */
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

/** The one that counts comes last. */
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

/** Empty for an absent object. */
function getVersion(object: KubeObject | undefined): string {
  return object?.metadata.resourceVersion ?? '';
}
