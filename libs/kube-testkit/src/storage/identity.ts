import type { Random } from '@sandlot/std';

/** The alphabet of the real server: no vowels, and no digits that look like letters. */
const SUFFIX_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
const MAX_GENERATED_NAME = 63;

/** Appends five random characters to `prefix`, with at most 63 characters in total. */
export function generateName(prefix: string, random: Random): string {
  const suffix = Array.from(
    { length: SUFFIX_LENGTH },
    () => SUFFIX_ALPHABET[Math.floor(random() * SUFFIX_ALPHABET.length)],
  );
  return prefix.slice(0, MAX_GENERATED_NAME - SUFFIX_LENGTH) + suffix.join('');
}

/** A version 4 UUID. */
export function createUuid(random: Random): string {
  return 'xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx'.replaceAll('x', () => Math.floor(random() * 16).toString(16));
}
