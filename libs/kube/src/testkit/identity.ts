import type { Random } from '@sandlot/std';

/** No vowels and no digits that look like letters, as the real server's generator. */
const SUFFIX_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
const MAX_GENERATED_NAME = 63;

/** `prefix` and five random characters, within 63. */
export function generateName(prefix: string, random: Random): string {
  const suffix = Array.from(
    { length: SUFFIX_LENGTH },
    () => SUFFIX_ALPHABET[Math.floor(random() * SUFFIX_ALPHABET.length)],
  );
  return prefix.slice(0, MAX_GENERATED_NAME - SUFFIX_LENGTH) + suffix.join('');
}

/** A version 4 UUID. */
export function uuid(random: Random): string {
  return 'xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx'.replaceAll('x', () => Math.floor(random() * 16).toString(16));
}

/** A repeatable source, so that the same test sees the same uids and names. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
