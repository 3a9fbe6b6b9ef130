import { spawn } from 'node:child_process';
import type { CommandResult } from '@sandlot/local-cluster';
import { UpError } from './errors.ts';

export interface CommandOptions {
  readonly cwd?: string | undefined;
  readonly input?: string | undefined;
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** `run` kills the command after this time. Default two minutes. */
  readonly timeoutMs?: number | undefined;
  /** Receives every line of standard output and standard error as it arrives. */
  readonly onLine?: ((line: string) => void) | undefined;
}

const DEFAULT_TIMEOUT_MS = 120_000;

/** Runs a command to its end. Does not throw on a non-zero exit code. A program that cannot start gives code 127. */
export function run(argv: readonly [string, ...string[]], options: CommandOptions = {}): Promise<CommandResult> {
  const [program, ...args] = argv;
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    timeout: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      for (const line of text.split(/[\r\n]+/)) if (line.trim() !== '') options.onLine?.(line.trim());
    });
  }
  // A program that exits without reading its input closes the pipe. Its exit code is what matters.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  return new Promise((resolve) => {
    child.once('error', (error) =>
      resolve({ ...output, stderr: `${output.stderr}${program}: ${error.message}`, code: 127 }),
    );
    child.once('close', (code, signal) => {
      const note = signal === null ? '' : `\nstopped by ${signal}`;
      resolve({ ...output, stderr: output.stderr + note, code: code ?? 128 });
    });
  });
}

/** Like {@link run}, but throws an UpError of the step on a non-zero exit code, with the end of the command's output. */
export async function runOrFail(
  step: string,
  argv: readonly [string, ...string[]],
  options: CommandOptions = {},
): Promise<string> {
  const result = await run(argv, options);
  if (result.code !== 0) throw createCommandError(step, argv.join(' '), result);
  return result.stdout;
}

/** Creates the UpError of a command that failed, with the end of its output. */
export function createCommandError(step: string, command: string, result: CommandResult): UpError {
  const output = result.stderr.trim() === '' ? result.stdout : result.stderr;
  const details = output.trim().split('\n').slice(-25).join('\n');
  const shown = command.length > 160 ? `${command.slice(0, 157)}...` : command;
  return new UpError({ step, problem: `\`${shown}\` ended with code ${result.code}`, details });
}
