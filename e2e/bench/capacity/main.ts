// Memory and starts by number of Sandboxes: npm run bench:capacity [-- --sizes 5000,10000,20000,30000] [--json FILE]
import { writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { renderReport } from './report.ts';
import { runSteps } from './run.ts';

const { values: flags } = parseArgs({
  options: { sizes: { type: 'string', default: '5000,10000,20000,30000' }, json: { type: 'string' } },
});
const sizes = flags.sizes.split(',').map(Number);
const isGrowing = sizes.every((size, index) => Number.isInteger(size) && size > (sizes[index - 1] ?? 0));
if (sizes.length < 3 || !isGrowing) {
  console.error('--sizes needs three numbers or more, each above the one before');
  process.exit(2);
}
const load = loadavg()[0]?.toFixed(1) ?? '?';
const steps = await runSteps(sizes, (text) => void process.stderr.write(`${text}\n`));
const date = new Date().toISOString().slice(0, 10);
console.log(`${date}, Node ${process.version}, ${cpus().length} CPUs, load ${load} before\n`);
console.log(renderReport(steps));
if (flags.json !== undefined) await writeFile(flags.json, `${JSON.stringify({ date, load, steps }, undefined, 2)}\n`);
