import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureBinaries, findFreePort } from '@sandlot/local-cluster';
import { inject } from 'vitest';
import { runKubectlOrFail } from '../kubectl.ts';
import { helm } from '../nodes/release.ts';

const run = promisify(execFile);

/** What the commands make in the namespace `default`. */
const MADE = ['sandboxclaim/first', 'sandboxtemplate/first', 'serviceaccount/caller', 'rolebinding/caller'];
const TIMEOUT_MS = 180_000;

/** Runs the commands of the first claim that Helm shows after an installation, and returns what they print. */
export async function followNotes(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sandlot-e2e-notes-'));
  try {
    await writeKubectl(join(folder, 'kubectl'));
    // A port of this machine that is free; the end of the shell ends the port-forward.
    const commands = readCommands(await helm(['get', 'notes', 'sandlot']), await findFreePort());
    const script = ['set -eu', 'trap "kill \\$(jobs -p)" EXIT', commands].join('\n');
    const env = { ...process.env, PATH: `${folder}:${process.env['PATH'] ?? ''}` };
    return (await run('bash', ['-c', script], { env, timeout: TIMEOUT_MS })).stdout;
  } finally {
    await runKubectlOrFail(['--namespace', 'default', 'delete', '--ignore-not-found', ...MADE]);
    await rm(folder, { recursive: true });
  }
}

/** From the first `apply` to the first command in the sandbox. */
function readCommands(notes: string, port: number): string {
  const [commands] = /^ {2}kubectl -n default apply [^]*?"echo hello"\}'$/m.exec(notes) ?? [];
  if (commands === undefined) throw new Error(`the notes show no first claim:\n${notes}`);
  const shell = commands.replaceAll(/^ {2}/gm, '').replaceAll(/^[A-Z].*:$/gm, '');
  return shell.replace(/ 8080 &$/m, ` ${port}:8080 &`).replaceAll('localhost:8080', `localhost:${port}`);
}

async function writeKubectl(path: string): Promise<void> {
  const binaries = await ensureBinaries(['kube']);
  await writeFile(path, `#!/bin/sh\nexec ${binaries('kube')} kubectl --kubeconfig ${inject('kubeconfigPath')} "$@"\n`);
  await chmod(path, 0o755);
}
