import type { OutgoingEvent } from '@sandlot/bus';
import { formatEventId } from '@sandlot/bus';
import type { JsonValue, KubeObject } from '@sandlot/kube';
import { diff } from './diff.ts';
import type { Recorded } from './diff.ts';
import { formatFactName } from './fact.ts';
import type { AnyFact, End, FactSource } from './fact.ts';

/** The annotation with the trace of an object's operation. */
const TRACE_ANNOTATION = 'opentelemetry.io/trace-context';

/** An event to send. */
export interface Parcel {
  readonly event: OutgoingEvent;
  /** Text of the object's trace annotation. */
  readonly trace: string | undefined;
  readonly urgent: boolean;
  /** Resolves when the event was sent ahead of its turn; to false when that failed. */
  early?: Promise<boolean>;
}

/** The unpublished facts of one object, to be published and then recorded. */
export interface Work {
  readonly uid: string;
  /** Monotonic milliseconds: when the oldest fact was seen. */
  sinceMs: number;
  readonly parcels: Map<string, Parcel>;
  /** Names of the facts to record. */
  facts: readonly string[];
  /** Those of the facts that a caller reported before the object's state showed them. */
  readonly reported: string[];
  about: JsonValue | undefined;
  /** The object is gone, and its record is to be removed. */
  gone: boolean;
  /** Grows with every change, so that facts that arrive during publishing do not count as published. */
  version: number;
}

/** The record of one object, as this process knows it. */
export interface Entry extends Recorded {
  readonly about?: JsonValue | undefined;
}

export interface BacklogOptions<T extends KubeObject> {
  readonly source: FactSource<T>;
  readonly now: () => { readonly wallMs: number; readonly monotonicMs: number };
  /** The most events kept while they cannot be sent. */
  readonly maxParcels: number;
}

/**
 * The facts to publish and record, derived from the observed states of objects. It keeps all states that come and go while the
 * server is away, up to a bound. Beyond the bound only facts that still hold afterwards are published.
 */
export class Backlog<T extends KubeObject> {
  readonly #o: BacklogOptions<T>;
  readonly #works = new Map<string, Work>();
  #parcels = 0;
  #collapsed = 0;
  /** Records by UID; undefined until they have been read. */
  recorded: Map<string, Entry> | undefined;

  constructor(options: BacklogOptions<T>) {
    this.#o = options;
  }

  get parcels(): number {
    return this.#parcels;
  }

  get size(): number {
    return this.#works.size;
  }

  /** Monotonic time of the oldest unpublished fact; undefined without any. */
  get oldestMs(): number | undefined {
    for (const { sinceMs } of this.#works.values()) return sinceMs;
    return undefined;
  }

  /** Unpublished work in order of arrival. */
  works(): Iterable<Work> {
    return this.#works.values();
  }

  /** Returns how many states found no room since the last call: the caller compares all objects again. */
  takeCollapsed(): number {
    const collapsed = this.#collapsed;
    this.#collapsed = 0;
    return collapsed;
  }

  /** Derives facts from a state of an object. Returns the events that a client waits for. */
  observe(object: T): readonly Parcel[] {
    const uid = getUid(object);
    const work = this.#works.get(uid);
    const entry = this.recorded?.get(uid);
    const stated = this.#o.source.listFacts(object);
    if (work === undefined && isRecorded(entry, stated)) return [];
    const { news, facts } = diff({ facts: this.#known(uid), again: entry?.again }, stated);
    const fresh = work === undefined ? news : news.filter((fact) => !work.parcels.has(formatFactName(fact)));
    if (fresh.length === 0) {
      if (work !== undefined) work.facts = merge(facts, work.reported);
      return [];
    }
    if (!this.#hasRoom(fresh.length)) return [];
    const target = work ?? this.#open(uid);
    target.facts = merge(facts, target.reported);
    target.about = this.#describe(object);
    const urgent = this.#add(target, object, fresh);
    putFirst(target, buildRetry(entry, fresh));
    return urgent;
  }

  /** Adds a fact that the object's state does not show yet. Returns its event, or nothing when it is known. */
  addReported(object: T, fact: AnyFact): readonly Parcel[] {
    const uid = getUid(object);
    const name = formatFactName(fact);
    const known = this.#known(uid);
    if (known.includes(name) || !this.#hasRoom()) return [];
    const target = this.#works.get(uid) ?? this.#open(uid);
    target.reported.push(name);
    target.facts = merge(known, target.reported);
    target.about ??= this.#describe(object);
    return this.#add(target, object, [fact]);
  }

  /** Records that an object is gone; `last` is its last state, if this process saw one. */
  recordGone(uid: string, last: T | undefined): void {
    const work = this.#works.get(uid);
    if (isOnlyMissed(work, last)) return;
    const isKnown = work !== undefined || this.recorded?.has(uid) === true;
    const fact = this.#findEnd({ uid, last, about: this.#aboutGone(uid), recorded: this.#known(uid) });
    if (fact === undefined ? !isKnown : !this.#hasRoom()) return;
    const target = work ?? this.#open(uid);
    target.gone = true;
    target.version += 1;
    if (fact !== undefined) this.#add(target, last ?? { metadata: { uid } }, [fact]);
  }

  /** Adds an end that was published and has to be published again. */
  restore(uid: string, parcel: Parcel): void {
    if (!this.#hasRoom()) return;
    const work = this.#works.get(uid) ?? this.#open(uid);
    work.gone = true;
    this.#put(work, { event: parcel.event, trace: parcel.trace, urgent: false });
  }

  /** Drops facts that were derived before the records were read and turn out to be recorded. */
  forgetRecorded(): void {
    for (const work of this.#works.values()) {
      const entry = this.recorded?.get(work.uid);
      const names = entry?.again === true ? [] : (entry?.facts ?? []);
      for (const name of names) this.recordSent(work, name);
      if (work.parcels.size === 0 && !work.gone) this.#works.delete(work.uid);
    }
  }

  /** Drops everything. */
  clear(): void {
    this.#works.clear();
    this.#parcels = 0;
    this.#collapsed = 0;
    this.recorded = undefined;
  }

  recordSent(work: Work, name: string): void {
    if (work.parcels.delete(name)) this.#parcels -= 1;
  }

  /** Ends the work on an object, unless more facts arrived meanwhile. */
  close(work: Work, version: number): void {
    this.#works.delete(work.uid);
    if (work.version === version) return;
    work.sinceMs = this.#o.now().monotonicMs;
    this.#works.set(work.uid, work);
  }

  /** Names of the facts that are recorded or about to be published. */
  #known(uid: string): readonly string[] {
    const recorded = this.recorded?.get(uid)?.facts ?? NONE;
    const waiting = this.#works.get(uid)?.facts;
    return waiting === undefined ? recorded : [...waiting, ...recorded];
  }

  #aboutGone(uid: string): JsonValue | undefined {
    return this.#works.get(uid)?.about ?? this.recorded?.get(uid)?.about;
  }

  #findEnd(end: End<T>): AnyFact | undefined {
    return this.#o.source.findEnd?.(end);
  }

  #describe(object: T): JsonValue | undefined {
    return this.#o.source.describe?.(object);
  }

  #hasRoom(events = 1): boolean {
    if (this.#parcels + events <= this.#o.maxParcels) return true;
    this.#collapsed += 1;
    return false;
  }

  #open(uid: string): Work {
    const sinceMs = this.#o.now().monotonicMs;
    const work: Work = {
      uid,
      sinceMs,
      parcels: new Map(),
      facts: [],
      reported: [],
      about: undefined,
      gone: false,
      version: 0,
    };
    this.#works.set(uid, work);
    return work;
  }

  #add(work: Work, object: Pick<KubeObject, 'metadata'>, facts: readonly AnyFact[]): readonly Parcel[] {
    const trace = object.metadata.annotations?.[TRACE_ANNOTATION];
    const parcels = facts.map((fact): Parcel => {
      const event = getEvent(work.uid, fact, this.#o.now().wallMs);
      return { event, trace, urgent: fact.urgent ?? false };
    });
    for (const parcel of parcels) this.#put(work, parcel);
    return parcels.filter(({ urgent }) => urgent);
  }

  #put(work: Work, parcel: Parcel): void {
    const name = parcel.event.id.slice(parcel.event.id.indexOf('/') + 1);
    if (!work.parcels.has(name)) this.#parcels += 1;
    work.parcels.set(name, parcel);
    work.version += 1;
  }
}

const NONE: readonly string[] = [];

/** Whether all facts are recorded: most changes of an object add none. */
function isRecorded(entry: Entry | undefined, stated: readonly AnyFact[]): boolean {
  if (entry === undefined || entry.again === true) return false;
  return stated.every((fact) => entry.facts.includes(formatFactName(fact)));
}

/** Whether this process has already seen the deletion: the record knows less about the object. */
function isOnlyMissed(work: Work | undefined, last: KubeObject | undefined): boolean {
  return work?.gone === true && last === undefined;
}

/** Names of the facts that a lost stream had. */
function buildRetry(entry: Entry | undefined, facts: readonly AnyFact[]): ReadonlySet<string> {
  const sentBefore = entry?.again === true ? entry.facts : NONE;
  return new Set(facts.map(formatFactName).filter((name) => sentBefore.includes(name)));
}

/** Facts that are published again happened before those that wait, so they go first. */
function putFirst({ parcels }: Work, names: ReadonlySet<string>): void {
  if (names.size === 0) return;
  for (const [name, parcel] of [...parcels]) {
    if (names.has(name)) continue;
    parcels.delete(name);
    parcels.set(name, parcel);
  }
}

function getUid({ metadata: { uid = '' } }: KubeObject): string {
  return uid;
}

function merge(facts: readonly string[], sentBefore: readonly string[]): readonly string[] {
  return sentBefore.length === 0 ? facts : [...new Set([...facts, ...sentBefore])];
}

function getEvent(uid: string, { type, marker, timeMs, data }: AnyFact, nowMs: number): OutgoingEvent {
  const event: OutgoingEvent = {
    type,
    id: formatEventId({ uid, type, marker }),
    timeMs: timeMs === undefined || Number.isNaN(timeMs) ? nowMs : timeMs,
    data: data(),
  };
  return event;
}
