import { mkdir, rename, stat } from 'node:fs/promises';
import type { Progress } from '@sandlot/local-cluster';
import { runOrFail } from '../command.ts';
import { getCacheDir } from '../paths.ts';
import { computeContentKey } from './content-key.ts';
import type { BaseName } from './recipes.ts';

const SUITE = 'bookworm';
const MINUTE_MS = 60_000;

const smaller = [
  '--dpkgopt=path-exclude=/usr/share/man/*',
  '--dpkgopt=path-exclude=/usr/share/locale/*',
  '--dpkgopt=path-exclude=/usr/share/doc/*',
  '--dpkgopt=path-include=/usr/share/doc/*/copyright',
  '--aptopt=Acquire::Languages "none"',
  '--aptopt=Acquire::Retries "3"',
];

/** Arguments of mmdebstrap. `runtime` has the libraries that Node needs, and no shell. `debian` is a small Debian. */
const bases: Record<BaseName, readonly string[]> = {
  runtime: ['--variant=extract', '--include=base-files,netbase,tzdata,libc6,libgcc-s1,libstdc++6', ...smaller],
  debian: ['--variant=minbase', '--include=ca-certificates,netbase,procps', ...smaller],
};

/** A root file system on disk. */
export interface BaseArchive {
  /** Hash of everything it was built from. */
  readonly key: string;
  readonly path: string;
}

/** Computes the cache key of a base from the arguments of mmdebstrap and the architecture. */
export function computeBaseKey(name: BaseName): Promise<string> {
  return computeContentKey([SUITE, process.arch, findMirror() ?? '', ...bases[name]]);
}

/** Builds the root file system unless the cache has it. Takes 3 s for `runtime` and 30 s for `debian`. Needs root. */
export async function ensureBase(name: BaseName, progress: Progress): Promise<BaseArchive> {
  const key = await computeBaseKey(name);
  const path = getCacheDir('images', `${name}-${key}.tar`);
  if (await isPresent(path)) return { key, path };
  await mkdir(getCacheDir('images'), { recursive: true });
  const title = `Building the ${name} root file system`;
  const step = progress.startStep(title);
  const partial = `${path}.${process.pid}.partial.tar`;
  const from = findMirror();
  try {
    await runOrFail(title, ['mmdebstrap', ...bases[name], SUITE, partial, ...(from === undefined ? [] : [from])], {
      timeoutMs: 15 * MINUTE_MS,
      onLine: (line) => step.update(line.replace(/^I: /, '')),
    });
  } catch (error) {
    step.fail();
    throw error;
  }
  await rename(partial, path);
  step.finish(`${Math.round((await stat(path)).size / 1e6)} MB`);
  return { key, path };
}

/** Returns SANDLOT_DEBIAN_MIRROR, or undefined for Debian's own mirrors. */
function findMirror(): string | undefined {
  const { SANDLOT_DEBIAN_MIRROR } = process.env;
  return SANDLOT_DEBIAN_MIRROR === '' ? undefined : SANDLOT_DEBIAN_MIRROR;
}

function isPresent(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
