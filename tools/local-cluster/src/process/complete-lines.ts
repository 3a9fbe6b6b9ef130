import { createReadStream } from 'node:fs';

/** Yields the lines of a file that another process still writes, without an unfinished last line. Rejects if unreadable. */
export async function* createLineBuffer(path: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of createReadStream(path, { encoding: 'utf8' }) as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

/** Reads all complete lines at once, for a file that fits into memory. */
export async function readCompleteLines(path: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of createLineBuffer(path)) lines.push(line);
  return lines;
}
