import { spawn } from 'node:child_process';
import { LocalClusterError } from '../errors.ts';
import { buildChildEnvironment } from './environment.ts';

/** Result of a finished command. */
export interface CommandResult {
  stdout: string;
  stderr: string;
  code: number;
}

/** How to run a command. */
export interface ExecOptions {
  input?: string | undefined;
  cwd?: string | undefined;
  /** Added to this process's environment. */
  env?: Readonly<Record<string, string>> | undefined;
  /** `exec` kills the command after this time. Default two minutes. */
  timeoutMs?: number | undefined;
  /** Receives standard error as it arrives. */
  onStderr?: ((text: string) => void) | undefined;
}

const defaultTimeoutMs = 120_000;

/** Runs a command to its end. Does not throw on a non-zero exit code. A program that cannot start gives code 127. */
export async function exec(argv: readonly string[], options: ExecOptions = {}): Promise<CommandResult> {
  const [program = '', ...args] = argv;
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: buildChildEnvironment(options.env),
  });
  const timeout = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs ?? defaultTimeoutMs);
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => {
    stderr.push(chunk);
    options.onStderr?.(chunk.toString());
  });
  // A program that exits without reading its input closes the pipe. Its exit code is what matters.
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

/** Like `exec`, but throws on a non-zero exit code, with the command and its output in the message. */
export async function execOrThrow(argv: readonly string[], options: ExecOptions = {}): Promise<CommandResult> {
  const result = await exec(argv, options);
  if (result.code === 0) return result;
  const output = (result.stderr.trim() === '' ? result.stdout : result.stderr).trim().slice(-4000);
  throw new LocalClusterError('COMMAND_FAILED', `${argv.join(' ')} failed with code ${result.code}:\n${output}`);
}
