import { realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';

/** Whether a path is one of the folders or below one, after links. Neither has to exist. */
export async function isWithin(path: unknown, folders: readonly string[]): Promise<boolean> {
  if (typeof path !== 'string' || !isAbsolute(path) || path.includes('\0')) return false;
  try {
    const real = await followLinks(resolve(path));
    const roots = await Promise.all(folders.map((folder) => followLinks(resolve(folder))));
    return roots.some((root) => real === root || real.startsWith(root === '/' ? root : `${root}/`));
  } catch {
    // Links in a circle, or a file where a folder would have to be.
    return false;
  }
}

/** The path without links; of what does not exist, that of the nearest folder which does. */
async function followLinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (!isMissing || path === '/') throw error;
    return join(await followLinks(dirname(path)), basename(path));
  }
}
