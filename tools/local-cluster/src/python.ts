import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureFolder, runOrThrow } from './installed-folder.ts';
import { ensurePackages } from './packages.ts';
import { exec } from './process/exec.ts';

/**
 * Returns the `bin` folder of a virtual environment with exactly the packages of a requirements file, from pip's configured
 * index. Creates it once per content of that file. Throws LocalClusterError PACKAGES_FAILED with pip's output.
 */
export async function ensurePython(requirements: string): Promise<string> {
  const folder = await ensureFolder('python', [await readFile(requirements)], async (venv) => {
    await makeVenv(venv);
    await runPip(venv, ['install', '--no-deps', '--requirement', requirements]);
  });
  return join(folder, 'bin');
}

/**
 * Returns a folder with the wheels of a requirements file, without their dependencies, for the given version of CPython on
 * Linux with glibc 2.28 or newer and this machine's architecture. Throws LocalClusterError PACKAGES_FAILED with pip's
 * output.
 */
export async function ensureWheels(requirements: string, version: string): Promise<string> {
  const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
  const platforms = ['manylinux_2_28', 'manylinux_2_17', 'manylinux2014'].map((name) => `${name}_${machine}`);
  const key = [await readFile(requirements), version, machine];
  const folder = await ensureFolder('wheels', key, async (made) => {
    const venv = join(made, 'venv');
    await makeVenv(venv);
    const target = ['--python-version', version, ...platforms.flatMap((platform) => ['--platform', platform])];
    const to = ['--dest', join(made, 'wheels'), '--requirement', requirements];
    await runPip(venv, ['download', '--no-deps', '--only-binary=:all:', ...target, ...to]);
    await rm(venv, { recursive: true });
  });
  return join(folder, 'wheels');
}

async function makeVenv(folder: string): Promise<void> {
  if ((await exec(['python3', '-c', 'import ensurepip, venv'])).code !== 0) await ensurePackages(['python3-venv']);
  await runOrThrow(['python3', '-m', 'venv', folder]);
}

async function runPip(venv: string, [command = '', ...options]: readonly string[]): Promise<void> {
  const quiet = ['--quiet', '--disable-pip-version-check'];
  await runOrThrow([join(venv, 'bin/python'), '-m', 'pip', command, ...quiet, ...options]);
}
