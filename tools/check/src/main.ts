// `npm test`: every check in order, then a table and one line that says how many passed.
import { parseArgs } from 'node:util';
import { runStep } from './run.ts';
import type { StepResult } from './run.ts';
import { steps } from './steps.ts';
import type { Step } from './steps.ts';

const HELP = `npm test                     everything
npm test -- --only unit,lint  these steps
npm test -- --skip e2e        all but these
steps: ${steps.map((step) => step.name).join(', ')}`;

function fail(message: string): never {
  console.error(`${message}\n\n${HELP}`);
  process.exit(2);
}

function names(list: string | undefined): string[] | undefined {
  const wanted = list?.split(',').filter((name) => name !== '');
  const unknown = wanted?.find((name) => !steps.some((step) => step.name === name));
  return unknown === undefined ? wanted : fail(`unknown step "${unknown}"`);
}

function selected(): readonly Step[] {
  const { values } = parseArgs({
    options: { only: { type: 'string' }, skip: { type: 'string' }, help: { type: 'boolean' } },
  });
  if (values.help === true) {
    console.log(HELP);
    process.exit(0);
  }
  const only = names(values.only);
  const skip = names(values.skip) ?? [];
  return steps.filter((step) => (only?.includes(step.name) ?? true) && !skip.includes(step.name));
}

function row({ step, passed, failed, seconds, note }: StepResult): string {
  const mark = failed === 0 ? 'ok  ' : 'FAIL';
  const counts = `${passed} passed, ${failed} failed`.padEnd(24);
  return `${mark} ${step.name.padEnd(12)} ${counts} ${seconds.toFixed(1).padStart(7)} s  ${note === '' ? step.what : note}`;
}

const results: StepResult[] = [];
for (const step of selected()) {
  console.log(`\n── ${step.name}: ${step.what}`);
  const result = await runStep(step);
  results.push(result);
  console.log(row(result));
}

const total = (of: (result: StepResult) => number): number => results.reduce((sum, result) => sum + of(result), 0);
const [passed, failed] = [total((result) => result.passed), total((result) => result.failed)];
const lines = results.flatMap(({ step, failures }) =>
  failures.map(({ what, error }) => `  ${step.name} ${what}: ${error}`),
);
const failures = lines.length === 0 ? '' : `\n\nFailed:\n${lines.join('\n')}`;
console.log(`\n${results.map(row).join('\n')}${failures}\n\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
