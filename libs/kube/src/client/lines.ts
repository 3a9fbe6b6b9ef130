import { StringDecoder } from 'node:string_decoder';

/**
 * Yields the lines of a byte stream as they complete. Scans each byte once and joins characters that are split between
 * chunks. Drops a last line without a newline, because it is incomplete.
 */
export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string, void, undefined> {
  const decoder = new StringDecoder('utf8');
  let pending: string[] = [];
  for await (const chunk of chunks) {
    const text = decoder.write(chunk);
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      pending.push(text.slice(start, end));
      yield pending.join('');
      pending = [];
      start = end + 1;
    }
    if (start < text.length) pending.push(text.slice(start));
  }
}
