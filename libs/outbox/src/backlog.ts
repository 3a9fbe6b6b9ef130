import type { OutgoingEvent } from '@sandlot/bus';
import { eventId } from '@sandlot/bus';
import type { JsonValue, KubeObject } from '@sandlot/kube';
import { diff } from './diff.ts';
import type { Recorded } from './diff.ts';
import { nameOf } from './fact.ts';
import type { AnyFact, End, Telling } from './fact.ts';

/** Annotation of objects that carries the trace of the operation which made them. */
const TRACE_ANNOTATION = 'opentelemetry.io/trace-context';

/** An event that is to be sent. */
export interface Parcel {
  readonly event: OutgoingEvent;
  /** Text of the object's trace annotation. */
  readonly trace: string | undefined;
  readonly urgent: boolean;
  /** It is on its way since before its turn; false when that failed. */
  early?: Promise<boolean>;
}

/** News of one object: to be published, then recorded. */
export interface Work {
  readonly uid: string;
  /** Monotonic milliseconds: when the oldest of it was seen. */
  sinceMs: number;
  readonly parcels: Map<string, Parcel>;
  /** Names of the facts to be recorded. */
  facts: readonly string[];
  /** Of those, what somebody knew before the object's state said so. */
  readonly told: string[];
  about: JsonValue | undefined;
  /** The object is gone: its record goes too. */
  gone: boolean;
  /** Grows with every change, so that what comes while it is being published is not taken for published. */
  version: number;
}

/** What is recorded of one object, as this process knows it. */
export interface Entry extends Recorded {
  readonly about?: JsonValue | undefined;
}

export interface BacklogOptions<T extends KubeObject> {
  readonly telling: Telling<T>;
  readonly now: () => { readonly wallMs: number; readonly monotonicMs: number };
  /** Events kept while they cannot be sent. */
  readonly maxParcels: number;
}

/**
 * What is to be published and recorded, derived from the states of objects as they are seen. States that come and go while
 * nothing can be sent are all kept, up to a bound; beyond it only what still holds afterwards is told.
 */
export class Backlog<T extends KubeObject> {
  readonly #o: BacklogOptions<T>;
  readonly #works = new Map<string, Work>();
  #parcels = 0;
  #collapsed = 0;
  /** By UID; undefined until it has been read. */
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

  /** Monotonic time of the oldest news; undefined without any. */
  get oldestMs(): number | undefined {
    for (const { sinceMs } of this.#works.values()) return sinceMs;
    return undefined;
  }

  /** In the order in which they became news. */
  works(): Iterable<Work> {
    return this.#works.values();
  }

  /** How many states had no room since the last call: they are to be looked at again. */
  takeCollapsed(): number {
    const collapsed = this.#collapsed;
    this.#collapsed = 0;
    return collapsed;
  }

  /** An object is seen in a state. The news that somebody waits for is returned. */
  seen(object: T): readonly Parcel[] {
    const uid = uidOf(object);
    const work = this.#works.get(uid);
    const entry = this.recorded?.get(uid);
    const stated = this.#o.telling.factsOf(object);
    if (work === undefined && isRecorded(entry, stated)) return [];
    const { news, facts } = diff({ facts: this.#known(uid), again: entry?.again }, stated);
    const fresh = work === undefined ? news : news.filter((fact) => !work.parcels.has(nameOf(fact)));
    if (fresh.length === 0) {
      if (work !== undefined) work.facts = merged(facts, work.told);
      return [];
    }
    if (!this.#hasRoom(fresh.length)) return [];
    const target = work ?? this.#open(uid);
    target.facts = merged(facts, target.told);
    target.about = this.#aboutOf(object);
    const urgent = this.#add(target, object, fresh);
    putFirst(target, toldAgain(entry, fresh));
    return urgent;
  }

  /** A fact that is known before the object's state shows it; nothing when it is no news. */
  told(object: T, fact: AnyFact): readonly Parcel[] {
    const uid = uidOf(object);
    const name = nameOf(fact);
    const known = this.#known(uid);
    if (known.includes(name) || !this.#hasRoom()) return [];
    const target = this.#works.get(uid) ?? this.#open(uid);
    target.told.push(name);
    target.facts = merged(known, target.told);
    target.about ??= this.#aboutOf(object);
    return this.#add(target, object, [fact]);
  }

  /** An object is gone; `last` when it was seen before. */
  gone(uid: string, last: T | undefined): void {
    const work = this.#works.get(uid);
    if (isOnlyMissed(work, last)) return;
    const isKnown = work !== undefined || this.recorded?.has(uid) === true;
    const fact = this.#endOf({ uid, last, about: this.#aboutGone(uid), recorded: this.#known(uid) });
    if (fact === undefined ? !isKnown : !this.#hasRoom()) return;
    const target = work ?? this.#open(uid);
    target.gone = true;
    target.version += 1;
    if (fact !== undefined) this.#add(target, last ?? { metadata: { uid } }, [fact]);
  }

  /** An end that was published, and is to be published again. */
  restore(uid: string, parcel: Parcel): void {
    if (!this.#hasRoom()) return;
    const work = this.#works.get(uid) ?? this.#open(uid);
    work.gone = true;
    this.#put(work, { event: parcel.event, trace: parcel.trace, urgent: false });
  }

  /** What was derived before the record was known, and turns out to be recorded, is no news. */
  forgetRecorded(): void {
    for (const work of this.#works.values()) {
      const entry = this.recorded?.get(work.uid);
      for (const name of entry?.again === true ? [] : (entry?.facts ?? [])) {
        if (work.parcels.delete(name)) this.#parcels -= 1;
      }
    }
  }

  /** Forgets everything. */
  clear(): void {
    this.#works.clear();
    this.#parcels = 0;
    this.#collapsed = 0;
    this.recorded = undefined;
  }

  sent(work: Work, name: string): void {
    if (work.parcels.delete(name)) this.#parcels -= 1;
  }

  /** The work is done, unless more has come meanwhile. */
  close(work: Work, version: number): void {
    this.#works.delete(work.uid);
    if (work.version === version) return;
    work.sinceMs = this.#o.now().monotonicMs;
    this.#works.set(work.uid, work);
  }

  /** Names of the facts that are published, or are about to be. */
  #known(uid: string): readonly string[] {
    const recorded = this.recorded?.get(uid)?.facts ?? NONE;
    const waiting = this.#works.get(uid)?.facts;
    return waiting === undefined ? recorded : [...waiting, ...recorded];
  }

  #aboutGone(uid: string): JsonValue | undefined {
    return this.#works.get(uid)?.about ?? this.recorded?.get(uid)?.about;
  }

  #endOf(end: End<T>): AnyFact | undefined {
    return this.#o.telling.endOf?.(end);
  }

  #aboutOf(object: T): JsonValue | undefined {
    return this.#o.telling.aboutOf?.(object);
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
      told: [],
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
      const event = eventOf(work.uid, fact, this.#o.now().wallMs);
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

/** Most changes of an object change none of its facts. */
function isRecorded(entry: Entry | undefined, stated: readonly AnyFact[]): boolean {
  if (entry === undefined || entry.again === true) return false;
  return stated.every((fact) => entry.facts.includes(nameOf(fact)));
}

/** It was seen to go already: the record would tell less of it. */
function isOnlyMissed(work: Work | undefined, last: KubeObject | undefined): boolean {
  return work?.gone === true && last === undefined;
}

/** Names of the facts that the stream had before it was lost. */
function toldAgain(entry: Entry | undefined, facts: readonly AnyFact[]): ReadonlySet<string> {
  const told = entry?.again === true ? entry.facts : NONE;
  return new Set(facts.map(nameOf).filter((name) => told.includes(name)));
}

/** What was told before and is told again happened before what has been waiting since. */
function putFirst({ parcels }: Work, names: ReadonlySet<string>): void {
  if (names.size === 0) return;
  for (const [name, parcel] of [...parcels]) {
    if (names.has(name)) continue;
    parcels.delete(name);
    parcels.set(name, parcel);
  }
}

function uidOf({ metadata: { uid = '' } }: KubeObject): string {
  return uid;
}

function merged(facts: readonly string[], told: readonly string[]): readonly string[] {
  return told.length === 0 ? facts : [...new Set([...facts, ...told])];
}

function eventOf(uid: string, { type, marker, timeMs, data }: AnyFact, nowMs: number): OutgoingEvent {
  const event: OutgoingEvent = {
    type,
    id: eventId({ uid, type, marker }),
    timeMs: timeMs === undefined || Number.isNaN(timeMs) ? nowMs : timeMs,
    data: data(),
  };
  return event;
}
