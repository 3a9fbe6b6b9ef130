import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from './process.ts';
import type { Exit } from './process.ts';
import { failures, takeReport } from './report.ts';
import type { Failure, Report } from './report.ts';
import type { Step } from './steps.ts';

/** What came of one step. Without a countable report the step itself is the one thing that passed or failed. */
export interface StepResult {
  readonly step: Step;
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
  readonly note: string;
  /** Each test that failed, and each file that did not load. */
  readonly failures: readonly Failure[];
}

/** Runs one step to its end or its time-out and counts what passed and failed. Never throws. */
export async function runStep(step: Step): Promise<StepResult> {
  const startedMs = performance.now();
  const reportPath = join(tmpdir(), `sandlot-${step.name}-${process.pid}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportPath}`];
  const command = step.project === undefined ? step.command : ([...step.command, ...reporters] as const);
  const exit = await runCommand(command, step.timeoutMs);
  const report = step.project === undefined ? undefined : await takeReport(reportPath);
  const verdict = report === undefined ? judgeCommand(exit) : judgeTests(exit, report);
  return { step, ...verdict, seconds: (performance.now() - startedMs) / 1000, failures: failures(report) };
}

type Verdict = Pick<StepResult, 'passed' | 'failed' | 'note'>;

function judgeCommand({ code, timedOut }: Exit): Verdict {
  const succeeded = code === 0 && !timedOut;
  return { passed: succeeded ? 1 : 0, failed: succeeded ? 0 : 1, note: timedOut ? 'timed out' : '' };
}

function judgeTests({ code, timedOut }: Exit, report: Report): Verdict {
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
