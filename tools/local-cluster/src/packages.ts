import { access, chmod, rm, writeFile } from 'node:fs/promises';
import { LocalClusterError, MissingToolError } from './errors.ts';
import { exec } from './process/exec.ts';
import { withLock } from './process/lock.ts';
import type { Progress, ProgressStep } from './progress.ts';
import { silentProgress, withStep } from './progress.ts';

const installTimeoutMs = 15 * 60_000;
const lockFile = '/run/lock/sandlot-packages.lock';
const servicePolicy = '/usr/sbin/policy-rc.d';

/** Installs missing Debian packages without starting their services. Throws MissingToolError or PACKAGES_FAILED. */
export async function ensurePackages(
  packages: readonly string[],
  options: { progress?: Progress | undefined } = {},
): Promise<void> {
  const absent = await findMissingPackages(packages);
  if (absent.length === 0) return;
  await assertCanInstall(absent);
  await withLock(lockFile, { timeoutMs: installTimeoutMs }, async () => {
    const stillAbsent = await findMissingPackages(absent);
    if (stillAbsent.length === 0) return;
    await withStep(options.progress ?? silentProgress, `Installing ${stillAbsent.join(', ')}`, (step) =>
      withoutServiceStarts(() => install(stillAbsent, step)),
    );
  });
}

/** Packages that this process has found installed. */
const knownInstalled = new Set<string>();

async function findMissingPackages(packages: readonly string[]): Promise<string[]> {
  const unknown = packages.filter((name) => !knownInstalled.has(name));
  if (unknown.length === 0) return [];
  const { stdout, code } = await exec(['dpkg-query', '-W', '-f=${Package} ${db:Status-Abbrev}\n', ...unknown]);
  if (code === 127) return unknown;
  const installed = stdout.split('\n').filter((line) => line.includes(' ii'));
  for (const line of installed) knownInstalled.add(line.split(' ')[0] ?? '');
  return unknown.filter((name) => !knownInstalled.has(name));
}

async function assertCanInstall(packages: readonly string[]): Promise<void> {
  const list = packages.join(' ');
  if ((await exec(['apt-get', '--version'])).code !== 0) {
    throw new MissingToolError(
      `this machine has no apt-get: install the equivalents of these Debian packages yourself: ${list}`,
    );
  }
  if (process.getuid?.() !== 0) {
    throw new MissingToolError(`installing packages needs root: run  sudo apt-get install ${list}`);
  }
}

async function install(packages: readonly string[], step: ProgressStep): Promise<void> {
  if ((await installWithApt(packages)).code === 0) return;
  // Missing or outdated package lists name files that the mirror no longer has.
  step.update('updating package lists');
  await runApt(['update']);
  step.update('');
  const { code, stdout, stderr } = await installWithApt(packages);
  if (code === 0) return;
  const output = `${stdout}\n${stderr}`.trim().split('\n').slice(-15).join('\n');
  throw new LocalClusterError('PACKAGES_FAILED', `apt-get install ${packages.join(' ')} failed:\n${output}`);
}

async function installWithApt(packages: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return runApt(['install', '--yes', '--no-install-recommends', ...packages]);
}

async function runApt(args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return exec(['apt-get', '-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=3', '-q', ...args], {
    timeoutMs: installTimeoutMs,
    env: { DEBIAN_FRONTEND: 'noninteractive' },
  });
}

/** Debian asks policy-rc.d before it starts a service; exit code 101 forbids it. Keeps an existing policy-rc.d. */
async function withoutServiceStarts(work: () => Promise<void>): Promise<void> {
  const present = await access(servicePolicy).then(
    () => true,
    () => false,
  );
  if (present) return work();
  await writeFile(servicePolicy, '#!/bin/sh\nexit 101\n');
  await chmod(servicePolicy, 0o755);
  try {
    await work();
  } finally {
    await rm(servicePolicy, { force: true });
  }
}
