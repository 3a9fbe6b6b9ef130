type Entries = Readonly<Record<string, string>>;

/** The key of tokens in a Secret: the one in use, and during a rotation another one beside it. */
export interface FoundTokenKey {
  readonly key: string;
  readonly number: number;
  /** With a higher number it is the next key, with a lower one that of before. */
  readonly other: { readonly key: string; readonly number: number } | undefined;
}

/** Where its number is, and where the other key is as `NUMBER:KEY`. */
export const formatTokenEntries = (entry: string): { readonly number: string; readonly other: string } => ({
  number: `${entry}.number`,
  other: `${entry}.other`,
});

/** A key that was never rotated has the number 1, and no entry says so. */
export function readTokenKey(entry: string, entries: Entries): FoundTokenKey {
  const names = formatTokenEntries(entry);
  const other = entries[names.other]?.split(':');
  return {
    key: entries[entry] ?? '',
    number: Number(entries[names.number] ?? 1),
    other: other === undefined ? undefined : { number: Number(other[0]), key: other[1] ?? '' },
  };
}
