import type { EventData, EventType } from '@sandlot/bus';
import type { JsonValue, KubeObject } from '@sandlot/kube';

/** Something that has happened to an object, according to its state. */
export interface Fact<T extends EventType = EventType> {
  readonly type: T;
  /** Distinguishes this occurrence from the next of the same type. It must derive from the object alone. */
  readonly marker: string;
  /** When it happened according to the object, epoch milliseconds. Absent: when it is first seen. */
  readonly timeMs?: number | undefined;
  /** Called only for a new fact. */
  readonly data: () => EventData[T];
  /** The name ({@link formatFactName}) of a fact that must be recorded before this one: an end needs a beginning. */
  readonly after?: string | undefined;
  /** A client waits for the event: it is sent at once and recorded later with the others. */
  readonly urgent?: boolean | undefined;
}

/** A fact of any type of the catalogue, with the data of that type. */
export type AnyFact = { readonly [T in EventType]: Fact<T> }[EventType];

/** How the states of one kind of objects become events. All functions are pure. */
export interface FactSource<T extends KubeObject> {
  /** The facts of the object's current state, in order. */
  readonly listFacts: (object: T) => readonly AnyFact[];
  /** Data for the event of the end. It is small, because it is recorded for every object. Absent: none. */
  readonly describe?: ((object: T) => JsonValue) | undefined;
  /** The event of an object's end. `last` is its last state, if this process saw it; `about` is the recorded data. */
  readonly findEnd?: ((end: End<T>) => AnyFact | undefined) | undefined;
}

export interface End<T extends KubeObject> {
  readonly uid: string;
  readonly last: T | undefined;
  readonly about: JsonValue | undefined;
  /** Names of the recorded facts. */
  readonly recorded: readonly string[];
}

/** The name of a fact among those of its object: `claim.bound/3f0c...`. */
export function formatFactName({ type, marker }: Pick<AnyFact, 'type' | 'marker'>): string {
  return `${type}/${marker}`;
}
