// The cost of events and traces in a burst of warm claims: npm run bench:overhead [-- --claims N] [--json FILE] [--order both,none,...]
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { renderOverhead } from './report.ts';
import { runRounds, VARIANTS } from './rounds.ts';
import type { Round } from './rounds.ts';

const { values } = parseArgs({
  options: {
    claims: { type: 'string', default: '300' },
    order: { type: 'string', default: 'both,none,none,both' },
    // Rounds that the file already has are included.
    json: { type: 'string' },
    profiles: { type: 'string' },
  },
});
const order = values.order.split(',').map((word) => VARIANTS.find((variant) => variant === word));
const variants = order.filter((variant) => variant !== undefined);
if (variants.length < order.length || !(Number(values.claims) > 0)) {
  console.error(`--order takes ${VARIANTS.join(', ')} in any order, --claims a number above 0`);
  process.exit(2);
}

const load = loadavg()[0]?.toFixed(1) ?? '?';
const say = (text: string): void => void process.stderr.write(`${text}\n`);
const plan = { claims: Number(values.claims), variants, profiles: values.profiles };
const earlier = await readEarlierRounds(values.json);
const rounds = [...earlier, ...(await runRounds(plan, say))];
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(rounds, undefined, 2)}\n`);
console.log(
  `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} cores, load ${load} before\n`,
);
console.log(renderOverhead(rounds));
process.exit(0);

async function readEarlierRounds(file: string | undefined): Promise<Round[]> {
  if (file === undefined || !existsSync(file)) return [];
  return JSON.parse(await readFile(file, 'utf8')) as Round[];
}
