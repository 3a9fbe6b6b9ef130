import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

/** A file of an image's build context. */
export interface ContextFile {
  /** Name in the context. */
  readonly target: string;
  /** Absolute path to copy from. */
  readonly source: string;
}

const KEY_LENGTH = 16;

/** Hashes the texts, and the names and contents of the files. Equal inputs give equal keys. */
export async function computeContentKey(texts: readonly string[], files: readonly ContextFile[] = []): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(texts));
  for (const { target, source } of files) {
    hash.update(`\0${target}\0`);
    for await (const chunk of createReadStream(source)) hash.update(chunk as Buffer);
  }
  return hash.digest('hex').slice(0, KEY_LENGTH);
}
