import { spawn } from 'node:child_process';
import { LocalClusterError } from '../errors.ts';
import { childEnvironment } from './environment.ts';

/** A finished command. */
export interface CommandResult {
  stdout: string;
  stderr: string;
  code: number;
}

/** How a command is run. */
export interface ExecOptions {
  input?: string | undefined;
  cwd?: string | undefined;
  /** Added to this process's environment. */
  env?: Readonly<Record<string, string>> | undefined;
  /** The command is killed after this long; default two minutes. */
  timeoutMs?: number | undefined;
  /** Sees standard error as it arrives. */
  onStderr?: ((text: string) => void) | undefined;
}

const defaultTimeoutMs = 120_000;

/** Runs a command to its end. A non-zero exit code is a result, not an error; a program that cannot be started is 127. */
export async function exec(argv: readonly string[], options: ExecOptions = {}): Promise<CommandResult> {
  const [program = '', ...args] = argv;
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: childEnvironment(options.env),
  });
  const timeout = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs ?? defaultTimeoutMs);
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => {
    stderr.push(chunk);
    options.onStderr?.(chunk.toString());
  });
  // A program that exits without reading its input closes the pipe; its exit code tells the story.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  return new Promise((resolve) => {
    const finish = (code: number, note: string) => {
      clearTimeout(timeout);
      resolve({ stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() + note, code });
    };
    child.once('error', (error) => finish(127, `${program}: ${error.message}`));
    child.once('close', (code, signal) => finish(code ?? 128, signal === null ? '' : `killed by ${signal}`));
  });
}

/** Like `exec`, but a non-zero exit code throws with the command and what it said. */
export async function execOrThrow(argv: readonly string[], options: ExecOptions = {}): Promise<CommandResult> {
  const result = await exec(argv, options);
  if (result.code === 0) return result;
  const said = (result.stderr.trim() === '' ? result.stdout : result.stderr).trim().slice(-4000);
  throw new LocalClusterError('COMMAND_FAILED', `${argv.join(' ')} failed with code ${result.code}:\n${said}`);
}
