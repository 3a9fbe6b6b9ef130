import { open } from 'node:fs/promises';

/** Returns the last whole lines of a log file, at most `maxBytes`, or a note if there is no file. */
export async function readLogTail(path: string, maxBytes = 3000): Promise<string> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return '(no log was written)';
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - maxBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start);
    const text = buffer.subarray(0, bytesRead).toString();
    return start === 0 ? text.trimEnd() : text.slice(text.indexOf('\n') + 1).trimEnd();
  } finally {
    await file.close();
  }
}
