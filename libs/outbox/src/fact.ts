import type { EventData, EventType } from '@sandlot/bus';
import type { JsonValue, KubeObject } from '@sandlot/kube';

/** Something that an object's state says has happened to it. */
export interface Fact<T extends EventType = EventType> {
  readonly type: T;
  /** From the object alone: tells this occurrence from the next one of the same type. */
  readonly marker: string;
  /** When it happened by the object's own times, epoch milliseconds. Absent: when it is first seen. */
  readonly timeMs?: number | undefined;
  /** Asked for only when the fact is news. */
  readonly data: () => EventData[T];
  /** A fact only once that one, in the spelling of {@link nameOf}, is recorded: an end needs a beginning. */
  readonly after?: string | undefined;
  /** Somebody waits for it: it is sent at once, and recorded with the others later. */
  readonly urgent?: boolean | undefined;
}

/** A fact of some type of the catalogue, its data matching the type. */
export type AnyFact = { readonly [T in EventType]: Fact<T> }[EventType];

/** How the objects of one kind are turned into events. All functions are pure. */
export interface Telling<T extends KubeObject> {
  /** What the object's state says now, in order. */
  readonly factsOf: (object: T) => readonly AnyFact[];
  /** What is to be known of the object once it is gone; small, and kept for every object. Absent: nothing. */
  readonly aboutOf?: ((object: T) => JsonValue) | undefined;
  /** The event of an object's end. `last` is its last state when this process saw it, `about` what was recorded of it. */
  readonly endOf?: ((end: End<T>) => AnyFact | undefined) | undefined;
}

export interface End<T extends KubeObject> {
  readonly uid: string;
  readonly last: T | undefined;
  readonly about: JsonValue | undefined;
  /** Names of the facts that were recorded. */
  readonly recorded: readonly string[];
}

/** A fact's name among those of its object: `claim.bound/3f0c...`. */
export function nameOf({ type, marker }: Pick<AnyFact, 'type' | 'marker'>): string {
  return `${type}/${marker}`;
}
