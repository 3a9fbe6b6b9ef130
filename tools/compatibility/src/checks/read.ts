/** The text of a file of the repository; undefined if there is none. */
export type Read = (path: string) => string | undefined;

/** Like `read`, for a file without which a check says nothing. */
export function readOrFail(read: Read, path: string): string {
  const text = read(path);
  if (text === undefined) throw new Error(`${path} is missing`);
  return text;
}

/** What the first group of a pattern finds in a text. Throws if that is nothing: a check never passes for lack of items. */
export function listMatches(text: string, pattern: RegExp): readonly string[] {
  const found = [...text.matchAll(pattern)].map(([, name = '']) => name);
  if (found.length === 0) throw new Error(`nothing matches ${String(pattern)}; the source has another form now`);
  return found;
}
