// What the data plane of egress adds to a direct connection: npm run bench:egress [-- --time 1s] [--rounds N] [--json FILE]. With
// --effect ROUNDS it measures how soon a change holds, on the cluster of `npm run up`, and nothing else.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { ensureBinaries } from '@sandlot/local-cluster';
import { measureEffects } from './effect.ts';
import { formatReport, parseFigures } from './report.ts';

const { values } = parseArgs({
  options: {
    time: { type: 'string', default: '1s' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'string' },
    effect: { type: 'string' },
  },
});
const load = loadavg()[0]?.toFixed(1) ?? '?';
if (values.effect !== undefined) {
  console.log(await measureEffects(Number(values.effect)));
  process.exit(0);
}
const bin = await ensureBinaries(['sandlot-egress']);
const folder = join(import.meta.dirname, '../../../egress');
const args = [
  'test',
  './bench',
  '-run',
  '^$',
  '-bench',
  '.',
  '-benchtime',
  values.time,
  '-count',
  values.rounds,
  '-timeout',
  '60m',
];
const child = spawn('go', args, {
  cwd: folder,
  env: { ...process.env, GOTOOLCHAIN: 'local', SANDLOT_EGRESS: bin('sandlot-egress') },
  stdio: ['ignore', 'pipe', 'inherit'],
});
const ended = once(child, 'exit');
const output = await text(child.stdout);
const [code] = (await ended) as [number | null];
if (code !== 0) {
  console.error(output);
  process.exit(1);
}
const figures = parseFigures(output);
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(figures, undefined, 2)}\n`);
console.log(`${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores, load ${load} before\n`);
console.log(formatReport(figures));
