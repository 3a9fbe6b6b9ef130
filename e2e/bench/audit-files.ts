import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Paths of an audit log and of what was rotated out of it: the server begins a new file when one is full. */
export async function auditFiles(path: string): Promise<string[]> {
  const folder = dirname(path);
  const stem = basename(path, '.log');
  return (await readdir(folder))
    .filter((name) => name.startsWith(stem) && name.endsWith('.log'))
    .map((name) => join(folder, name));
}
