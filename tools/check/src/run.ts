import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from './process.ts';
import type { Exit } from './process.ts';
import { failedFiles, failures, replaced, takeReport } from './report.ts';
import type { Failure, Report } from './report.ts';
import type { Step } from './steps.ts';

/** What came of one step. Without a countable report the step itself is the one thing that passed or failed. */
export interface StepResult {
  readonly step: Step;
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
  readonly note: string;
  readonly failures: readonly Failure[];
  /** What failed at first and passed when its file was run again: to be looked into all the same. */
  readonly flaky: readonly Failure[];
}

/** More files than these do not fail because a machine was slow. */
const MAX_FILES_AGAIN = 3;

/** A run and the report it left, if any. */
interface Outcome {
  readonly exit: Exit;
  readonly report: Report | undefined;
}

/** Runs one step to its end or its time-out and counts what passed and failed. Never throws. */
export async function runStep(step: Step): Promise<StepResult> {
  const startedMs = performance.now();
  const first = await runOnce(step);
  const last = await runAgain(step, first);
  const verdict = last.report === undefined ? judgeCommand(last.exit) : judgeTests(last.exit, last.report);
  const lasting = failures(last.report);
  // The same test may fail with another error the second time.
  const flaky = failures(first.report).filter(({ what }) => !lasting.some((other) => other.what === what));
  return { step, ...verdict, seconds: (performance.now() - startedMs) / 1000, failures: lasting, flaky };
}

async function runOnce(step: Step, more: readonly string[] = []): Promise<Outcome> {
  if (step.project === undefined) return { exit: await runCommand(step.command, step.timeoutMs), report: undefined };
  const reportPath = join(tmpdir(), `sandlot-${step.name}-${process.pid}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportPath}`];
  const exit = await runCommand([...step.command, ...reporters, ...more], step.timeoutMs);
  return { exit, report: await takeReport(reportPath) };
}

/**
 * Tests against real servers share two cores with them, and wait for things to happen: the files of a few that failed
 * are run once more, by themselves. Both runs are told of.
 */
async function runAgain(step: Step, first: Outcome): Promise<Outcome> {
  const files = first.report === undefined ? [] : failedFiles(first.report);
  const isWorthIt = step.again === true && !first.exit.timedOut && files.length > 0 && files.length <= MAX_FILES_AGAIN;
  if (!isWorthIt || first.report === undefined) return first;
  console.log(`\n── ${step.name}: ${files.length} of its files failed, and run once more`);
  const { exit, report } = await runOnce(step, ['--maxWorkers=1', ...files]);
  return report === undefined ? first : { exit, report: replaced(first.report, report) };
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
