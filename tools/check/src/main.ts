// `npm test`: runs every check, prints a table, and ends with one line that counts the tests.
import { parseArgs } from 'node:util';
import { runStep } from './run.ts';
import { runInLanes } from './lanes.ts';
import { formatRow, summarise } from './summary.ts';
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
const printTitle = ({ name, what }: Step): void => console.log(`\n── ${name}: ${what}`);
const results = await runInLanes(selected, async (step) => {
  const isBeside = step.lane !== undefined;
  if (!isBeside) printTitle(step);
  const result = await runStep(step, { rerunFailed });
  // Printed as a whole when the step ends, so that the lines of two steps do not mix.
  if (isBeside) printTitle(step);
  process.stdout.write(result.output);
  console.log(formatRow(result));
  return result;
});
console.log(summarise(results));
const hasFailed = results.some(({ failed }) => failed > 0);
process.exitCode = !hasFailed && results.some(({ passed }) => passed > 0) ? 0 : 1;
