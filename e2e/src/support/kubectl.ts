import { spawn } from 'node:child_process';
import { ensureBinaries } from '@sandlot/local-cluster';
import { inject } from 'vitest';

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Longer than any `--timeout` that a test gives to kubectl itself, whose message says more. */
const COMMAND_TIMEOUT_MS = 330_000;

/** Runs kubectl with `input` on standard input. Does not throw: a failure is a result. */
export async function kubectl(args: readonly string[], input = ''): Promise<CommandResult> {
  const binaries = await ensureBinaries(['kube']);
  const all = ['kubectl', '--kubeconfig', inject('kubeconfigPath'), ...args];
  const child = spawn(binaries('kube'), all, { stdio: ['pipe', 'pipe', 'pipe'], timeout: COMMAND_TIMEOUT_MS });
  child.stdin.end(input);
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? -1))),
  ]);
  return { code, stdout, stderr };
}

/** Runs kubectl and returns its trimmed standard output. Throws when it fails. */
export async function runKubectlOrFail(args: readonly string[], input = ''): Promise<string> {
  const { code, stdout, stderr } = await kubectl(args, input);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')} failed with ${code}:\n${stderr}${stdout}`);
  return stdout.trim();
}

async function text(stream: NodeJS.ReadableStream): Promise<string> {
  let all = '';
  for await (const chunk of stream) all += String(chunk);
  return all;
}
