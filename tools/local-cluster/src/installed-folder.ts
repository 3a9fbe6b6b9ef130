import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getCacheRoot } from './binaries/cache.ts';
import { LocalClusterError } from './errors.ts';
import { exec } from './process/exec.ts';
import { withLock } from './process/lock.ts';

const INSTALL_LIMIT_MS = 5 * 60_000;

/** Returns the cache folder for the key and fills it once. Starts over if an earlier fill was interrupted. */
export async function ensureFolder(
  kind: string,
  key: readonly (Buffer | string)[],
  fill: (folder: string) => Promise<void>,
): Promise<string> {
  const root = join(getCacheRoot(), kind);
  const hash = createHash('sha256');
  for (const part of key) hash.update(part);
  const folder = join(root, hash.digest('hex').slice(0, 16));
  const complete = join(folder, 'complete');
  if (existsSync(complete)) return folder;
  await mkdir(root, { recursive: true });
  await withLock(`${folder}.lock`, { timeoutMs: 2 * INSTALL_LIMIT_MS }, async () => {
    if (existsSync(complete)) return;
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
    await fill(folder);
    await writeFile(complete, '');
  });
  return folder;
}

/** Runs an installer. Throws LocalClusterError PACKAGES_FAILED with the end of its output. */
export async function runOrThrow(command: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await exec(command, { timeoutMs: INSTALL_LIMIT_MS });
  if (code === 0) return;
  const output = `${stdout}\n${stderr}`.trim().split('\n').slice(-15).join('\n');
  throw new LocalClusterError('PACKAGES_FAILED', `${command.join(' ')} failed:\n${output}`);
}
