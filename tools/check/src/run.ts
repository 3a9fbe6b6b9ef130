import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from './process.ts';
import type { Exit } from './process.ts';
import { listFailedFiles, listFailures, listFileTimes, replaceFiles, takeReport } from './report.ts';
import type { Failure, FileTime, Report } from './report.ts';
import type { Step } from './steps.ts';

/** The result of one step. Without a report the step itself counts as one test. */
export interface StepResult {
  readonly step: Step;
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
  readonly note: string;
  /** Each test that failed, and each file that did not load. */
  readonly failures: readonly Failure[];
  /** Each test that failed in the whole run and passed when its file ran once more, alone. */
  readonly unsteady: readonly Failure[];
  /** Slowest first. */
  readonly files: readonly FileTime[];
  /** What the command wrote, if the step has a lane; other steps write to the terminal. */
  readonly output: string;
}

export interface RunOptions {
  /** Runs the failed files of a step that allows it once more. Default false. */
  readonly rerunFailed?: boolean;
}

/** More failed files than this are no noise: they are not run again. */
const MOST_RERUN_FILES = 8;

/** Runs one step to its end or its time-out and counts what passed and failed. Never throws. */
export async function runStep(step: Step, { rerunFailed = false }: RunOptions = {}): Promise<StepResult> {
  const startedMs = performance.now();
  const first = await runOnce(step, step.command);
  const files = rerunFailed && step.mayRerun === true ? listFilesToRerun(first) : [];
  const second = files.length === 0 ? undefined : await runAgain(step, files);
  const last = second === undefined ? first : merge(first, second);
  const verdict = last.report === undefined ? judgeCommand(last.exit) : judgeTests(last.exit, last.report);
  const failed = listFailures(last.report);
  const stillFails = new Set(failed.map(({ what }) => what));
  return {
    step,
    ...verdict,
    seconds: (performance.now() - startedMs) / 1000,
    failures: failed,
    unsteady: second === undefined ? [] : listFailures(first.report).filter(({ what }) => !stillFails.has(what)),
    files: listFileTimes(first.report),
    output: first.exit.output,
  };
}

interface Run {
  readonly exit: Exit;
  readonly report: Report | undefined;
}

async function runOnce(step: Step, command: Step['command']): Promise<Run> {
  const options = {
    timeoutMs: step.timeoutMs,
    capturesOutput: step.lane !== undefined,
    priority: step.lane === 'back' ? constants.priority.PRIORITY_LOW : undefined,
  };
  if (step.project === undefined) return { exit: await runCommand(command, options), report: undefined };
  const reportPath = join(tmpdir(), `sandlot-${step.name}-${process.pid}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportPath}`];
  const exit = await runCommand([...command, ...reporters], options);
  return { exit, report: await takeReport(reportPath) };
}

/** The failed files, unless the run itself broke: a time-out or an error outside every file cannot be blamed on one of them. */
function listFilesToRerun({ exit, report }: Run): readonly string[] {
  if (report === undefined || exit.timedOut) return [];
  const files = listFailedFiles(report);
  return files.length <= MOST_RERUN_FILES ? files : [];
}

function runAgain(step: Step, files: readonly string[]): Promise<Run> {
  console.log(`\n── ${step.name}: ${files.length} failed file(s) once more, alone`);
  return runOnce(step, [...step.command, '--no-file-parallelism', ...files]);
}

/** Without a report of the second run, the first one stands. */
function merge(first: Run, second: Run): Run {
  if (first.report === undefined || second.report === undefined) return first;
  return { exit: second.exit, report: replaceFiles(first.report, second.report) };
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
  // A skipped test counts as failed: otherwise a green run would hide it.
  return { passed, failed: failed + (unnamed ? 1 : 0) + skipped, note };
}
