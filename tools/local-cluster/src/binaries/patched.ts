import { chmod, copyFile, cp, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execOrThrow } from '../process/exec.ts';
import { goEnvironment, goModuleDir } from './cache.ts';
import type { GoModule, Patch } from './catalog.ts';

const minutes = 60_000;

/**
 * Makes a Go module in `folder` that requires the same as `module`, but with the patched copy of one of its dependencies. Throws if
 * the patch does not apply, as it may after an update of the dependency.
 */
export async function createPatchedModule(module: GoModule, patch: Patch, folder: string): Promise<void> {
  const source = goModuleDir(module);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const file of ['go.mod', 'go.sum']) await copyFile(join(source, file), join(folder, file));
  const go = { cwd: folder, env: goEnvironment, timeoutMs: 10 * minutes };
  await execOrThrow(['go', 'mod', 'download', patch.module], go);
  const { stdout } = await execOrThrow(['go', 'list', '-m', '-f', '{{.Dir}}', patch.module], go);
  const copy = join(folder, 'patched');
  await cp(stdout.trim(), copy, { recursive: true });
  await makeWritable(copy);
  // In a checkout, git would look for the files of the patch from its root.
  const env = { GIT_CEILING_DIRECTORIES: folder };
  await execOrThrow(['git', 'apply', join(source, patch.file)], { cwd: copy, env, timeoutMs: minutes });
  await execOrThrow(['go', 'mod', 'edit', '-replace', `${patch.module}=./patched`], go);
}

/** Go keeps downloaded modules read-only. */
async function makeWritable(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
  }
}
