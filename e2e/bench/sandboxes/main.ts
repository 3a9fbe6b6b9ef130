// Cold Sandboxes compared with bare Pods, on simulated nodes: npm run bench:sandboxes [-- --count 5000 --pairs 200 --json FILE]
import { writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { render, summarise } from './report.ts';
import { runStages } from './run.ts';

const { values: flags } = parseArgs({
  options: {
    count: { type: 'string', default: '5000' },
    pairs: { type: 'string', default: '200' },
    json: { type: 'string' },
  },
});
const sizes = { count: Number(flags.count), pairs: Number(flags.pairs) };
if (!(sizes.count > 0 && sizes.pairs > 0)) {
  console.error('--count and --pairs need numbers above 0');
  process.exit(1);
}
const load = loadavg()[0]?.toFixed(1) ?? '?';
const results = await runStages(sizes, (text) => void process.stderr.write(`${text}\n`));
console.log(
  `${sizes.count} of each at once, ${sizes.pairs} of each one at a time; ${cpus().length} CPUs, load ${load} before\n`,
);
console.log(render(results));
if (flags.json !== undefined) await writeFile(flags.json, `${JSON.stringify(summarise(results), undefined, 2)}\n`);
