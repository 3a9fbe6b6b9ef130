import { readFile, statfs } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { UpError } from './errors.ts';
import { checkoutRoot } from './paths.ts';
import { findProgram } from './target.ts';

/** The properties of this machine that `npm run up` depends on. */
export interface Machine {
  readonly platform: string;
  readonly root: boolean;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly freeDiskBytes: number;
  readonly go: boolean;
  readonly apt: boolean;
  readonly systemName: string;
}

const GIB = 2 ** 30;
const NEEDED_MEMORY_BYTES = 3 * GIB;
const NEEDED_DISK_BYTES = 8 * GIB;

/** Returns the requirements of a real node that the machine does not meet, with advice. Pure. */
export function findObstacles(machine: Machine): readonly string[] {
  const found: string[] = [];
  if (machine.platform !== 'linux') found.push(`Linux is needed; this is ${machine.platform}.`);
  if (!machine.root) {
    found.push(
      'root is needed: a real node mounts file systems, creates network links and starts containers.\n' +
        'Run it as root, or run  npm run up -- --simulated  for a control plane with simulated nodes: claims bind, nothing executes.',
    );
  }
  if (!machine.go) found.push('Go 1.26.6 or newer is needed in PATH: https://go.dev/dl');
  if (!machine.apt)
    found.push(`Debian's apt-get is needed to install containerd and others; this is ${machine.systemName}.`);
  return [...found, ...findShortages(machine)];
}

function findShortages({ memoryBytes, freeDiskBytes }: Machine): readonly string[] {
  const short = (what: string, has: number, needs: number): readonly string[] =>
    has >= needs ? [] : [`${(needs / GIB).toFixed(0)} GiB of ${what} are needed; there are ${(has / GIB).toFixed(1)}.`];
  return [
    ...short('memory', memoryBytes, NEEDED_MEMORY_BYTES),
    ...short('free disk', freeDiskBytes, NEEDED_DISK_BYTES),
  ];
}

async function inspectMachine(): Promise<Machine> {
  const disk = await statfs(checkoutRoot);
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  return {
    platform: process.platform,
    root: process.getuid?.() === 0,
    cpus: cpus().length,
    memoryBytes: totalmem(),
    freeDiskBytes: disk.bavail * disk.bsize,
    go: (await findProgram('go')) !== undefined,
    apt: (await findProgram('apt-get')) !== undefined,
    systemName: /^PRETTY_NAME="?([^"\n]*)/m.exec(release)?.[1] ?? 'unknown',
  };
}

/** Throws an UpError that lists every obstacle to a real node on this machine. */
export async function requireRealNode(): Promise<void> {
  const found = findObstacles(await inspectMachine());
  if (found.length === 0) return;
  const problem = found.length === 1 ? 'a requirement is not met' : `${found.length} requirements are not met`;
  throw new UpError({ step: 'Checking this machine', problem, details: found.join('\n') });
}
