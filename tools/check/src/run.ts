import { spawn } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Step } from './steps.ts';

/** What came of one step. Without a countable report the step itself is the one thing that passed or failed. */
export interface StepResult {
  readonly step: Step;
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
  readonly note: string;
}

interface Exit {
  readonly code: number | null;
  readonly timedOut: boolean;
}

/** Runs a command in its own process group, so that a time-out takes its children along. */
function run(command: readonly [string, ...string[]], timeoutMs: number): Promise<Exit> {
  const [file, ...args] = command;
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: ['ignore', 'inherit', 'inherit'], detached: true });
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
      resolve({ code, timedOut });
    };
    child.once('error', () => finish(127));
    child.once('exit', (code) => finish(code));
  });
}

interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
}

async function readReport(path: string): Promise<VitestReport | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as VitestReport;
  } catch {
    return undefined;
  }
}

type Verdict = Pick<StepResult, 'passed' | 'failed' | 'note'>;

function judgeCommand({ code, timedOut }: Exit): Verdict {
  const succeeded = code === 0 && !timedOut;
  return { passed: succeeded ? 1 : 0, failed: succeeded ? 0 : 1, note: timedOut ? 'timed out' : '' };
}

function judgeTests({ code, timedOut }: Exit, report: VitestReport): Verdict {
  const { numPassedTests: passed, numFailedTests: failed, numPendingTests: skipped } = report;
  // A file that did not load, a hook that threw or a leaked error fails the run without failing a test.
  const unnamed = code !== 0 && failed === 0;
  const note = [
    ...(timedOut ? ['timed out'] : []),
    ...(unnamed ? ['failed outside a test'] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ].join(', ');
  // A skipped test is a defect here: it would let a green run hide what was not tried.
  return { passed, failed: failed + (unnamed ? 1 : 0) + skipped, note };
}

/** Runs one step to its end or its time-out and counts what passed and failed. Never throws. */
export async function runStep(step: Step): Promise<StepResult> {
  const startedMs = performance.now();
  const reportPath = join(tmpdir(), `sandlot-${step.name}-${process.pid}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportPath}`];
  const exit = await run(step.project === undefined ? step.command : [...step.command, ...reporters], step.timeoutMs);
  const report = step.project === undefined ? undefined : await readReport(reportPath);
  await rm(reportPath, { force: true });
  const verdict = report === undefined ? judgeCommand(exit) : judgeTests(exit, report);
  return { step, ...verdict, seconds: (performance.now() - startedMs) / 1000 };
}
