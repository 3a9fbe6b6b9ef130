import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { ComponentError } from '../errors.ts';
import { buildChildEnvironment } from './environment.ts';
import { readLogTail } from './log-tail.ts';

/** The program to run, and where. */
export interface GuardedOptions {
  /** Path of the guard binary. */
  guard: string;
  name: string;
  argv: readonly string[];
  cwd: string;
  logFile: string;
  env?: Readonly<Record<string, string>> | undefined;
}

/** A child that the kernel kills when this process dies for any reason. */
export interface GuardedProcess {
  readonly pid: number;
  /** Throws ComponentError if the process no longer runs. */
  assertRunning(): Promise<void>;
  /** Sends SIGKILL and waits for the end. Does nothing if the process has ended. */
  kill(): Promise<void>;
}

/** Starts a program whose output goes to its log file. */
export async function startGuarded(options: GuardedOptions): Promise<GuardedProcess> {
  const log = await open(options.logFile, 'a');
  try {
    const child = spawn(options.guard, [String(process.pid), ...options.argv], {
      cwd: options.cwd,
      env: buildChildEnvironment(options.env),
      stdio: ['ignore', log.fd, log.fd],
      // In its own process group Ctrl+C does not reach it: the tests stop their servers in order.
      detached: true,
    });
    await once(child, 'spawn');
    return spawnGuarded(child, options);
  } finally {
    await log.close();
  }
}

function spawnGuarded(child: ChildProcess, options: GuardedOptions): GuardedProcess {
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return {
    pid: child.pid ?? 0,
    assertRunning: async () => {
      if (!hasEnded()) return;
      throw new ComponentError({
        component: options.name,
        problem: `ended with ${child.signalCode ?? `code ${child.exitCode ?? 0}`}`,
        logFile: options.logFile,
        logTail: await readLogTail(options.logFile),
      });
    },
    kill: async () => {
      if (hasEnded()) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
  };
}
