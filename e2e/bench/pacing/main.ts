// What each mechanism of libs/pacing is for: npm run bench:pacing [-- --only NAME,NAME+NAME] [--rounds N] [--json FILE]
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { isMechanism, mechanisms } from '@sandlot/pacing';
import { renderPacing } from './report.ts';
import { runRounds } from './rounds.ts';
import type { Round, Without } from './rounds.ts';

/** After so many mechanisms comes a round with all of them, so that a slow hour of the machine shows. */
const COMPARE_EVERY = 4;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '1' },
    // Rounds that the file already has are included.
    json: { type: 'string' },
  },
});
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error(`--rounds takes a number above 0, not "${values.rounds}"`);
  process.exit(2);
}

const load = loadavg()[0]?.toFixed(1) ?? '?';
const measured = await readEarlier(values.json);
await runRounds(
  Array.from({ length: rounds }, () => listRounds(chooseMechanisms(values.only))).flat(),
  async (round) => {
    process.stderr.write(`${JSON.stringify(round)}\n`);
    measured.push(round);
    if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(measured, undefined, 2)}\n`);
  },
);
console.log(
  `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} cores, load ${load} before\n`,
);
console.log(renderPacing(measured));
process.exit(0);

function chooseMechanisms(list: string | undefined): string[] {
  const names = list?.split(',') ?? Object.keys(mechanisms).filter(isShownByLoad);
  const unknown = names.flatMap((name) => name.split('+')).filter((name) => !isMechanism(name));
  if (unknown.length > 0) {
    console.error(`There is no mechanism ${unknown.join(', ')}. There are: ${Object.keys(mechanisms).join(', ')}`);
    process.exit(2);
  }
  return names;
}

/** The load of this benchmark reaches no limit: unit tests beside them count what they save. */
function isShownByLoad(name: string): boolean {
  return isMechanism(name) && mechanisms[name].kind !== 'limit' && name !== 'eventSeries';
}

function listRounds(names: readonly string[]): Without[] {
  return [
    ...names.flatMap((name, index): Without[] => (index % COMPARE_EVERY === 0 ? ['none', name] : [name])),
    'none',
  ];
}

async function readEarlier(file: string | undefined): Promise<Round[]> {
  if (file === undefined || !existsSync(file)) return [];
  return JSON.parse(await readFile(file, 'utf8')) as Round[];
}
