import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheRoot } from './binaries/cache.ts';
import { LocalClusterError } from './errors.ts';
import { ensurePackages } from './packages.ts';
import { exec } from './process/exec.ts';
import { withLock } from './process/lock.ts';

const INSTALL_LIMIT_MS = 5 * 60_000;

/**
 * The `bin` folder of a virtual environment with exactly the packages of a requirements file, from the index that pip is
 * set up for. Made once for each content of that file. Throws a LocalClusterError PACKAGES_FAILED with what pip said.
 */
export async function ensurePython(requirements: string): Promise<string> {
  const text = await readFile(requirements);
  const root = join(cacheRoot(), 'python');
  const venv = join(root, createHash('sha256').update(text).digest('hex').slice(0, 16));
  const bin = join(venv, 'bin');
  const complete = join(venv, 'complete');
  if (existsSync(complete)) return bin;
  await mkdir(root, { recursive: true });
  await withLock(`${venv}.lock`, { timeoutMs: 2 * INSTALL_LIMIT_MS }, async () => {
    if (existsSync(complete)) return;
    await rm(venv, { recursive: true, force: true });
    if ((await exec(['python3', '-c', 'import ensurepip, venv'])).code !== 0) await ensurePackages(['python3-venv']);
    await done(['python3', '-m', 'venv', venv]);
    await done([
      join(bin, 'python'),
      ...['-m', 'pip', 'install', '--quiet', '--no-deps', '--disable-pip-version-check', '--requirement', requirements],
    ]);
    await writeFile(complete, '');
  });
  return bin;
}

async function done(command: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await exec(command, { timeoutMs: INSTALL_LIMIT_MS });
  if (code === 0) return;
  const said = `${stdout}\n${stderr}`.trim().split('\n').slice(-15).join('\n');
  throw new LocalClusterError('PACKAGES_FAILED', `${command.join(' ')} failed:\n${said}`);
}
