import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { OutputFile } from './output-file.ts';

/** The end of a command. `code` is null when a signal ended it. */
export interface Exit {
  readonly code: number | null;
  readonly timedOut: boolean;
  /** What the command wrote, empty when it wrote to the terminal. */
  readonly output: string;
}

export interface CommandOptions {
  /** The command is stopped after this long. */
  readonly timeoutMs: number;
  /** Keeps what the command writes for {@link Exit.output}. Default: it goes to the terminal at once. */
  readonly capturesOutput?: boolean;
  /** Of the command and its children, as `os.setPriority` takes it. Default: that of this process. */
  readonly priority?: number | undefined;
}

/** Runs a command in its own process group, so that a time-out stops its children too. Never throws. */
export function runCommand(
  command: readonly [string, ...string[]],
  { timeoutMs, capturesOutput = false, priority }: CommandOptions,
): Promise<Exit> {
  const [file, ...args] = command;
  return new Promise((resolve) => {
    const outputFile = capturesOutput ? new OutputFile() : undefined;
    const output = outputFile?.descriptor ?? 'inherit';
    const child = spawn(file, args, { stdio: ['ignore', output, output], detached: true });
    // It is inherited by what the command starts, which happens after this.
    if (child.pid !== undefined && priority !== undefined) setPriority(child.pid, priority);
    let timedOut = false;
    const stop = (signal: NodeJS.Signals): void => {
      if (child.pid === undefined || child.exitCode !== null) return;
      try {
        process.kill(-child.pid, signal);
      } catch {
        // The group ended between the check and the signal.
      }
    };
    const timer = setTimeout(() => {
      timedOut = true;
      stop('SIGTERM');
      setTimeout(() => stop('SIGKILL'), 30_000).unref();
    }, timeoutMs);
    const onInterrupt = (): void => stop('SIGINT');
    process.once('SIGINT', onInterrupt);
    process.once('SIGTERM', onInterrupt);
    const finish = (code: number | null): void => {
      clearTimeout(timer);
      process.off('SIGINT', onInterrupt);
      process.off('SIGTERM', onInterrupt);
      resolve({ code, timedOut, output: outputFile?.take() ?? '' });
    };
    child.once('error', () => finish(127));
    child.once('exit', (code) => finish(code));
  });
}
