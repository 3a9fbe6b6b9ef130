import { access, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LocalClusterError } from '../errors.ts';
import { exec } from '../process/exec.ts';
import { withLock } from '../process/lock.ts';
import type { Progress, ProgressStep } from '../progress.ts';
import { silentProgress, withStep } from '../progress.ts';
import { binaryCacheDirs, goEnvironment, goModuleDir } from './cache.ts';
import type { BinaryName } from './catalog.ts';
import { goModules, recipeOf } from './catalog.ts';

/** Absolute path of a binary that was ensured. */
export type Binaries = (name: BinaryName) => string;

const buildTimeoutMs = 40 * 60_000;

/**
 * Builds the named binaries unless the cache has them. Callers in parallel, also in other processes, wait for one build.
 * Needs Go and, on the first build, the Go module proxy. Throws MissingToolError or BUILD_FAILED.
 */
export async function ensureBinaries(
  names: readonly BinaryName[],
  options: { progress?: Progress | undefined } = {},
): Promise<Binaries> {
  const progress = options.progress ?? silentProgress;
  const dirOf = await binaryCacheDirs();
  for (const module of goModules) {
    const dir = dirOf(module);
    const absent = await missing(
      dir,
      names.filter((name) => recipeOf(name).module === module),
    );
    if (absent.length === 0) continue;
    await mkdir(dir, { recursive: true });
    await lockAndBuild({ dir, names: absent, progress });
  }
  return (name) => join(dirOf(recipeOf(name).module), name);
}

async function lockAndBuild(job: { dir: string; names: readonly BinaryName[]; progress: Progress }): Promise<void> {
  let waiting: ProgressStep | undefined;
  const onWait = () => {
    waiting = job.progress.step('Waiting for another process that builds the same binaries');
  };
  await withLock(join(job.dir, '.lock'), { timeoutMs: buildTimeoutMs, onWait }, async () => {
    waiting?.done();
    for (const name of await missing(job.dir, job.names)) {
      await withStep(job.progress, `Building ${name}`, (step) => build(job.dir, name, step));
    }
  });
}

async function missing(dir: string, names: readonly BinaryName[]): Promise<BinaryName[]> {
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
  const { recipe, module } = recipeOf(name);
  const cwd = goModuleDir(module);
  const target = join(dir, name);
  const partial = `${target}.partial`;
  const ldflags = `-s -w ${recipe.ldflags ?? ''}`.trim();
  const total = await packageCount(recipe.package, cwd);
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
    const said = stderr.split('\n').filter((line) => line !== '' && !isPackage(line));
    throw new LocalClusterError('BUILD_FAILED', `building ${name} failed:\n${said.slice(-30).join('\n')}`);
  }
  await rename(partial, target);
}

/** `go build -v` names one package per line among its other messages. */
function isPackage(line: string): boolean {
  return /^[\w.~/-]+$/.test(line);
}

async function packageCount(target: string, cwd: string): Promise<number> {
  const { stdout } = await exec(['go', 'list', '-deps', target], {
    cwd,
    env: goEnvironment,
    timeoutMs: buildTimeoutMs,
  });
  return stdout.split('\n').length;
}
