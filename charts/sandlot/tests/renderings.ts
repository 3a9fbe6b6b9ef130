import { createHash, randomUUID } from 'node:crypto';
import { readFile, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder of the results that all test files of one run share. */
    readonly renderings: string;
  }
}

const chartFolder = join(import.meta.dirname, '..');
const known = new Map<string, Promise<string>>();

/**
 * Returns the result of `make`, which depends only on the chart and on `key`. One test file makes it; others read its copy
 * from a folder that exists for one run. Two files that need it at the same moment both make it.
 */
export async function remember<T>(key: readonly unknown[], make: () => Promise<T>): Promise<T> {
  const name = JSON.stringify(key);
  const found = known.get(name) ?? readOrMake(name, make);
  known.set(name, found);
  return JSON.parse(await found) as T;
}

async function readOrMake(name: string, make: () => Promise<unknown>): Promise<string> {
  const digest = createHash('sha256').update(await chartHash).update(name).digest('hex');
  const file = join(inject('renderings'), digest);
  const present = await readFile(file, 'utf8').catch(() => undefined);
  if (present !== undefined) return present;
  const text = JSON.stringify(await make());
  // A reader must never see half of a file.
  const partial = `${file}.${randomUUID()}`;
  await writeFile(partial, text);
  await rename(partial, file);
  return text;
}

/** The chart may change while vitest watches. */
const chartHash = hashChart();

async function hashChart(): Promise<string> {
  const hash = createHash('sha256');
  const entries = await readdir(chartFolder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const sources = files.filter((file) => !file.startsWith(import.meta.dirname));
  for (const file of sources.sort()) hash.update(`\0${file}\0`).update(await readFile(file));
  return hash.digest('hex');
}
