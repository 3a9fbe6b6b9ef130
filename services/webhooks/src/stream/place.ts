import type { Place } from '../plan/snapshot.ts';

/** The text of a place; empty: there is none. */
export function formatPlace(place: Place | undefined): string {
  return place === undefined ? '' : `${place.sequence}@${place.stream}`;
}

/** Undefined for text that is no place. */
export function parsePlace(text: string): Place | undefined {
  const [, sequence, stream = ''] = /^(\d{1,15})@(.+)$/u.exec(text) ?? [];
  return sequence === undefined ? undefined : { sequence: Number(sequence), stream };
}
