import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureFolder, runOrThrow } from './installed-folder.ts';

/**
 * Returns the folder `node_modules` with exactly the packages of a lock file, whose scripts do not run. `folder` has the lock file and its
 * package.json. Creates it once per content of both. Throws LocalClusterError PACKAGES_FAILED with npm's output.
 */
export async function ensureNodePackages(folder: string): Promise<string> {
  const files = ['package.json', 'package-lock.json'];
  const key = await Promise.all(files.map((name) => readFile(join(folder, name))));
  const made = await ensureFolder('node-packages', key, async (target) => {
    for (const name of files) await copyFile(join(folder, name), join(target, name));
    await runOrThrow(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', target]);
  });
  return join(made, 'node_modules');
}
