/** The text of a file of the repository; undefined if there is none. */
export type Read = (path: string) => string | undefined;

/** Like `read`, for a file without which a check says nothing. */
export function readOrFail(read: Read, path: string): string {
  const text = read(path);
  if (text === undefined) throw new Error(`${path} is missing`);
  return text;
}
