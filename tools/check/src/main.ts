// `npm test`: runs every check in order, prints a table, and ends with one line that counts the tests.
import { parseArgs } from 'node:util';
import { runStep } from './run.ts';
import type { StepResult } from './run.ts';
import { row, summarise } from './summary.ts';
import { steps } from './steps.ts';
import type { Step } from './steps.ts';

const HELP = `npm test                     everything
npm test -- --only unit,lint  these steps
npm test -- --skip e2e        all but these
npm test -- --rerun-failed    runs failed files of the integration and e2e suites once more, alone, and
                              lists each test that then passed as "unsteady"
steps: ${steps.map((step) => step.name).join(', ')}`;

function fail(message: string): never {
  console.error(`${message}\n\n${HELP}`);
  process.exit(2);
}

function parseNames(list: string | undefined): string[] | undefined {
  const wanted = list?.split(',').filter((name) => name !== '');
  const unknown = wanted?.find((name) => !steps.some((step) => step.name === name));
  return unknown === undefined ? wanted : fail(`unknown step "${unknown}"`);
}

interface Selection {
  readonly steps: readonly Step[];
  readonly rerunFailed: boolean;
}

function parseSelection(): Selection {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      skip: { type: 'string' },
      'rerun-failed': { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) {
    console.log(HELP);
    process.exit(0);
  }
  const only = parseNames(values.only);
  const skip = parseNames(values.skip) ?? [];
  return {
    steps: steps.filter((step) => (only?.includes(step.name) ?? true) && !skip.includes(step.name)),
    rerunFailed: values['rerun-failed'] === true,
  };
}

const { steps: selected, rerunFailed } = parseSelection();
const results: StepResult[] = [];
for (const step of selected) {
  console.log(`\n── ${step.name}: ${step.what}`);
  const result = await runStep(step, { rerunFailed });
  results.push(result);
  console.log(row(result));
}
console.log(summarise(results));
const hasFailed = results.some(({ failed }) => failed > 0);
process.exitCode = !hasFailed && results.some(({ passed }) => passed > 0) ? 0 : 1;
