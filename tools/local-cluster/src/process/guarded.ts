import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { ComponentError } from '../errors.ts';
import { childEnvironment } from './environment.ts';
import { logTail } from './log-tail.ts';

/** A program and where it runs. */
export interface GuardedOptions {
  /** Path of the guard binary. */
  guard: string;
  name: string;
  argv: readonly string[];
  cwd: string;
  logFile: string;
  env?: Readonly<Record<string, string>> | undefined;
}

/** A child the kernel kills when this process dies, however it dies. */
export interface GuardedProcess {
  readonly pid: number;
  /** Throws ComponentError when the process is no longer running. */
  assertRunning(): Promise<void>;
  /** Sends SIGKILL and waits for the end; harmless when already ended. */
  kill(): Promise<void>;
}

/** Starts a program whose output goes to its log file. */
export async function startGuarded(options: GuardedOptions): Promise<GuardedProcess> {
  const log = await open(options.logFile, 'a');
  try {
    const child = spawn(options.guard, [String(process.pid), ...options.argv], {
      cwd: options.cwd,
      env: childEnvironment(options.env),
      stdio: ['ignore', log.fd, log.fd],
      // Its own group: Ctrl+C reaches the tests, which then stop their servers in order.
      detached: true,
    });
    await once(child, 'spawn');
    return guardedProcess(child, options);
  } finally {
    await log.close();
  }
}

function guardedProcess(child: ChildProcess, options: GuardedOptions): GuardedProcess {
  const ended = () => child.exitCode !== null || child.signalCode !== null;
  return {
    pid: child.pid ?? 0,
    assertRunning: async () => {
      if (!ended()) return;
      throw new ComponentError({
        component: options.name,
        problem: `ended with ${child.signalCode ?? `code ${child.exitCode ?? 0}`}`,
        logFile: options.logFile,
        logTail: await logTail(options.logFile),
      });
    },
    kill: async () => {
      if (ended()) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
  };
}
