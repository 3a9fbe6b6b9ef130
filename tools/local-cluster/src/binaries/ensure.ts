import { access, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalClusterError } from '../errors.ts';
import { exec } from '../process/exec.ts';
import { withLock } from '../process/lock.ts';
import type { Progress, ProgressStep } from '../progress.ts';
import { silentProgress, withStep } from '../progress.ts';
import { findBinaryCacheDirs, goEnvironment, goModuleDir } from './cache.ts';
import type { BinaryName } from './catalog.ts';
import { goModules, buildRecipe } from './catalog.ts';
import { createPatchedModule } from './patched.ts';

/** Returns the absolute path of a binary that `ensureBinaries` was called for. */
export type Binaries = (name: BinaryName) => string;

const buildTimeoutMs = 40 * 60_000;

/**
 * Builds the named binaries that the cache does not have. Parallel callers, in other processes too, share one build.
 * Needs Go and, for the first build, the Go module proxy. Throws MissingToolError or BUILD_FAILED.
 */
export async function ensureBinaries(
  names: readonly BinaryName[],
  options: { progress?: Progress | undefined } = {},
): Promise<Binaries> {
  const progress = options.progress ?? silentProgress;
  const dirOf = await findBinaryCacheDirs();
  for (const module of goModules) {
    const dir = dirOf(module);
    const absent = await findMissing(
      dir,
      names.filter((name) => buildRecipe(name).module === module),
    );
    if (absent.length === 0) continue;
    await mkdir(dir, { recursive: true });
    await lockAndBuild({ dir, names: absent, progress });
  }
  return (name) => join(dirOf(buildRecipe(name).module), name);
}

async function lockAndBuild(job: { dir: string; names: readonly BinaryName[]; progress: Progress }): Promise<void> {
  let waiting: ProgressStep | undefined;
  const onWait = () => {
    waiting = job.progress.startStep('Waiting for another process to build the same binaries');
  };
  await withLock(join(job.dir, '.lock'), { timeoutMs: buildTimeoutMs, onWait }, async () => {
    waiting?.finish();
    for (const name of await findMissing(job.dir, job.names)) {
      await withStep(job.progress, `Building ${name}`, (step) => build(job.dir, name, step));
    }
  });
}

async function findMissing(dir: string, names: readonly BinaryName[]): Promise<BinaryName[]> {
  const absent = await Promise.all(
    names.map((name) =>
      access(join(dir, name)).then(
        () => false,
        () => true,
      ),
    ),
  );
  return names.filter((_, index) => absent[index]);
}

async function build(dir: string, name: BinaryName, step: ProgressStep): Promise<void> {
  const { recipe, module } = buildRecipe(name);
  const patched = join(dir, `${name}.source`);
  if (recipe.patch !== undefined) await createPatchedModule(module, recipe.patch, patched);
  const cwd = recipe.patch === undefined ? goModuleDir(module) : patched;
  const target = join(dir, name);
  const partial = `${target}.partial`;
  const ldflags = `-s -w ${recipe.ldflags ?? ''}`.trim();
  const total = await countPackages(recipe.package, cwd);
  let compiled = 0;
  const { code, stderr } = await exec(
    ['nice', 'go', 'build', '-v', '-trimpath', '-ldflags', ldflags, '-o', partial, recipe.package],
    {
      cwd,
      env: goEnvironment,
      timeoutMs: buildTimeoutMs,
      onStderr: (text) => {
        compiled += text.split('\n').filter((line) => isPackage(line)).length;
        step.update(`${compiled} of at most ${total} packages compiled`);
      },
    },
  );
  if (code !== 0) {
    await rm(partial, { force: true });
    const messages = stderr.split('\n').filter((line) => line !== '' && !isPackage(line));
    throw new LocalClusterError('BUILD_FAILED', `building ${name} failed:\n${messages.slice(-30).join('\n')}`);
  }
  await rm(patched, { recursive: true, force: true });
  await rename(partial, target);
}

/** `go build -v` prints one package per line, mixed with other messages. */
function isPackage(line: string): boolean {
  return /^[\w.~/-]+$/.test(line);
}

async function countPackages(target: string, cwd: string): Promise<number> {
  const { stdout } = await exec(['go', 'list', '-deps', target], {
    cwd,
    env: goEnvironment,
    timeoutMs: buildTimeoutMs,
  });
  return stdout.split('\n').length;
}
