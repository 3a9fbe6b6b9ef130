/** The body of an answer; undefined if it is longer. Rejects when the connection breaks. */
export async function readBounded(response: Response, mostBytes: number): Promise<Buffer | undefined> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    if (!(part instanceof Uint8Array)) continue;
    bytes += part.byteLength;
    // Leaving the loop ends the connection.
    if (bytes > mostBytes) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}
