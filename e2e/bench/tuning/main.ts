// What settings of the API server are worth: npm run bench:tuning [-- --only NAME] [--rounds N] [--json FILE]
import { writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { computeMedian } from '../support/median.ts';
import { LISTED, runRound } from './rounds.ts';
import type { Round } from './rounds.ts';
import { VARIANTS } from './variants.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    rounds: { type: 'string', default: '3' },
    json: { type: 'string' },
  },
});
const load = loadavg()[0]?.toFixed(1) ?? '?';
const chosen = VARIANTS.filter(({ name }) => name === 'usual' || (values.only?.includes(name) ?? true));
const measured: Round[] = [];
// In turns, so that a slow hour of the machine meets all of them.
for (let round = 0; round < Number(values.rounds); round += 1) {
  for (const variant of chosen) {
    measured.push(await runRound(variant));
    process.stderr.write(`${JSON.stringify(measured.at(-1))}\n`);
    if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(measured, undefined, 2)}\n`);
  }
}
console.log(
  `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} cores, load ${load} before\n`,
);
console.log(
  `| setting | lives a second | API server, CPU per life | all, CPU per life | list of ${LISTED} Sandboxes | resident |`,
);
console.log('| --- | ---: | ---: | ---: | ---: | ---: |');
for (const { name, what } of chosen) {
  const rounds = measured.filter(({ variant }) => variant === name);
  const median = (pick: (round: Round) => number): number => computeMedian(rounds.map(pick));
  const cells = [
    median(({ livesPerSecond }) => livesPerSecond).toFixed(1),
    `${median(({ apiServerCpuMs }) => apiServerCpuMs).toFixed(1)} ms`,
    `${median(({ allCpuMs }) => allCpuMs).toFixed(1)} ms`,
    `${median(({ listCpuMs }) => listCpuMs).toFixed(0)} ms`,
    `${median(({ rssMiB }) => rssMiB).toFixed(0)} MiB`,
  ];
  console.log(`| ${what} | ${cells.join(' | ')} |`);
}
process.exit(0);
