import type { Failure, FileTime } from './report.ts';
import type { StepResult } from './run.ts';

const SLOWEST_FILES = 20;

/** One line of the table: verdict, step, counts and seconds. */
export function formatRow({ step, passed, failed, seconds, note }: StepResult): string {
  const mark = failed === 0 ? 'ok  ' : 'FAIL';
  const counts = `${passed} passed, ${failed} failed`.padEnd(24);
  return `${mark} ${step.name.padEnd(12)} ${counts} ${seconds.toFixed(1).padStart(7)} s  ${note === '' ? step.what : note}`;
}

/** The table of all steps, the slowest test files, what failed, what was unsteady, and last the line that counts the tests. */
export function summarise(results: readonly StepResult[]): string {
  const sum = (of: (result: StepResult) => number): number => results.reduce((total, result) => total + of(result), 0);
  const sections = [
    results.map(formatRow).join('\n'),
    formatSection('Slowest test files:', listSlowest(results)),
    formatSection('Failed:', list(results, 'failures')),
    formatSection('Passed only when their file ran once more, alone:', list(results, 'unsteady', 'unsteady ')),
    `${sum(({ passed }) => passed)} passed, ${sum(({ failed }) => failed)} failed`,
  ];
  return `\n${sections.filter((text) => text !== '').join('\n\n')}`;
}

function formatSection(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : [title, ...lines].join('\n');
}

function list(results: readonly StepResult[], which: 'failures' | 'unsteady', mark = ''): string[] {
  const line = ({ what, error }: Failure, step: string): string => `  ${mark}${step} ${what}: ${error}`;
  return results.flatMap((result) => result[which].map((failure) => line(failure, result.step.name)));
}

function listSlowest(results: readonly StepResult[]): string[] {
  const files = results.flatMap(({ step, files: of }) => of.map((file): [string, FileTime] => [step.name, file]));
  return files
    .sort(([, a], [, b]) => b.seconds - a.seconds)
    .slice(0, SLOWEST_FILES)
    .map(([step, { file, seconds }]) => `  ${seconds.toFixed(1).padStart(7)} s  ${step.padEnd(11)} ${file}`);
}
