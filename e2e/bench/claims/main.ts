// The latency of claims compared with the same writes alone: npm run bench:claims [-- --scenario NAME] [--json FILE] [--without PACING] [--policies on|off] [--flow-control on|off] [--seats N] [--shards N] [--namespaces N] [--cores shared|apart] [--profiles FOLDER]
import { writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { renderReport } from './report.ts';
import { runScenario } from './run.ts';
import type { Result } from './run.ts';
import { SCENARIOS } from './scenarios.ts';

const { values } = parseArgs({
  options: {
    scenario: { type: 'string', multiple: true },
    json: { type: 'string' },
    'warm-up': { type: 'string', default: '100' },
    without: { type: 'string' },
    policies: { type: 'string', default: 'off' },
    'flow-control': { type: 'string', default: 'off' },
    seats: { type: 'string' },
    shards: { type: 'string', default: '1' },
    namespaces: { type: 'string', default: '1' },
    cores: { type: 'string', default: 'shared' },
    profiles: { type: 'string' },
  },
});
const warmUp = Number(values['warm-up']);
if (!Number.isInteger(warmUp) || warmUp < 0) {
  console.error(`--warm-up takes a number of claims, not "${values['warm-up']}"`);
  process.exit(2);
}
if (values.policies !== 'on' && values.policies !== 'off') {
  console.error(`--policies is on or off, not "${values.policies}"`);
  process.exit(2);
}
const policies = values.policies === 'on';
const flowControl = values['flow-control'] === 'on';
const seats = values.seats === undefined ? undefined : Number(values.seats);
const [shards, namespaces] = (['shards', 'namespaces'] as const).map((flag) => {
  const count = Number(values[flag]);
  if (Number.isInteger(count) && count >= 1) return count;
  console.error(`--${flag} takes a number from 1, not "${values[flag]}"`);
  process.exit(2);
});
if (values.cores !== 'shared' && values.cores !== 'apart') {
  console.error(`--cores is shared or apart, not "${values.cores}"`);
  process.exit(2);
}
const wanted = values.scenario ?? SCENARIOS.map(({ name }) => name);
const unknown = wanted.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name));
if (unknown.length > 0) {
  const known = SCENARIOS.map(({ name }) => name).join(', ');
  console.error(`There is no scenario ${unknown.join(', ')}. There are: ${known}`);
  process.exit(2);
}

const say = (text: string): void => void process.stderr.write(`${text}\n`);
const load = loadavg()[0]?.toFixed(1) ?? '?';
const results: Result[] = [];
for (const scenario of SCENARIOS.filter(({ name }) => wanted.includes(name))) {
  const options = {
    say,
    warmUp,
    without: values.without,
    policies,
    flowControl,
    seats,
    shards,
    namespaces,
    isApart: values.cores === 'apart',
    profiles: values.profiles,
  };
  results.push(await runScenario(scenario, options));
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(results, undefined, 2)}\n`);
}
console.log(
  `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} cores, load ${load} before\n`,
);
console.log(renderReport(results));
process.exit(0);
