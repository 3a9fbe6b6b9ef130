import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { promisify } from 'node:util';
import { listTree } from './processes.ts';

/** The parts of a control plane, as the arguments of its processes name them. */
const CONTROL_PLANE = /\b(?:kube-apiserver|etcd|kube-controller-manager|kube-scheduler)\b/;

const run = promisify(execFile);

/**
 * Gives the first half of the cores to the control planes that this process started, and the other half to this process and
 * to all its other children, also those to come. Throws on a machine with one core.
 */
export async function separateControlPlane(): Promise<void> {
  const half = Math.floor(cpus().length / 2);
  if (half === 0) throw new Error('a control plane of its own core needs a machine with two cores or more');
  for (const pid of await listTree(process.pid)) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    const cores = CONTROL_PLANE.test(command.replaceAll('\0', ' ')) ? `0-${half - 1}` : `${half}-${cpus().length - 1}`;
    // A process that ended since needs no core.
    await run('taskset', ['--all-tasks', '--cpu-list', '--pid', cores, `${pid}`]).catch(async (error: unknown) => {
      if ((await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')) !== '') throw error;
    });
  }
}
