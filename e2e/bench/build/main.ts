// What builds of templates cost, on the cluster of `npm run up`: npm run bench:build [-- --rounds 3 --json FILE]
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sandboxTemplates } from '@sandlot/api-types';
import { createKubeClient, loadCredentials, pods } from '@sandlot/kube';
import { openCluster } from '@sandlot/local-cluster';
import { checkoutRoot } from '@sandlot/up';
import { Sandbox, Template } from 'e2b';
import type { BuildInfo } from 'e2b';
import { readAccess } from '../../src/support/sdk/client.ts';
import { ByHand } from './by-hand.ts';
import { countPolls } from './polls.ts';
import { cases, formatReport } from './report.ts';
import type { Case, Figures } from './report.ts';
import { buildTemplate, fillFolder } from './work.ts';
import type { Work } from './work.ts';

const POLL_MS = 5_000;

const { values: flags } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, json: { type: 'string' } },
});
const say = (text: string): void => void process.stderr.write(`${text}\n`);
const load = loadavg()[0]?.toFixed(1) ?? '?';
const access = await readAccess();
await using stack = new AsyncDisposableStack();
const cluster = await openCluster({ root: checkoutRoot });
if (cluster?.registry === undefined) throw new Error('no cluster with a registry is up; run npm run up');
const { host } = cluster.registry;
const credentials = await loadCredentials({ kubeconfig: cluster.kubeconfigPath });
const client = stack.adopt(createKubeClient({ credentials }), (made) => made.close());
const name = `bench-build-${process.pid}`;
stack.defer(async () => {
  await fetch(`${access.apiUrl}/templates/${name}`, { method: 'DELETE', headers: { 'x-api-key': access.apiKey } });
});

say('pulling the base …');
const byHand = stack.use(await ByHand.begin(await findBase()));
const builds = { cold: newTimes(), cached: newTimes(), changed: newTimes() };
const firstSandboxMs: number[] = [];
let built: BuildInfo | undefined;
for (let round = 0; round < Number(flags.rounds); round += 1) {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'sandlot-bench-build-'));
  await fillFolder(folder.path, `${process.pid} ${round} `);
  for (const which of cases) {
    say(`round ${round + 1} of ${flags.rounds}, ${which} …`);
    built = await measure(which, { folder: folder.path, variant: which === 'changed' ? 'two' : 'one' });
  }
}
say('polls …');
const pollsPerSecond = built === undefined ? 0 : await countPolls(access, built, POLL_MS);
const figures: Figures = { builds, firstSandboxMs, pollsPerSecond, replicas: await countReplicas() };
if (flags.json !== undefined) await writeFile(flags.json, `${JSON.stringify(figures, undefined, 2)}\n`);
console.log(
  `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} cores, load ${load} before, ${flags.rounds} rounds\n`,
);
console.log(formatReport(figures));

function newTimes(): { readonly byHandMs: number[]; readonly sandlotMs: number[] } {
  return { byHandMs: [], sandlotMs: [] };
}

/** Both ways build the same, one after the other. */
async function measure(which: Case, work: Work): Promise<BuildInfo> {
  builds[which].byHandMs.push(await byHand.measure(work, `${host}/${name}:latest`));
  const startedMs = performance.now();
  const info = await Template.build(buildTemplate(work), name, { ...access, cpuCount: 1 });
  builds[which].sandlotMs.push(performance.now() - startedMs);
  if (which === 'cold') {
    const sandbox = await Sandbox.create(name, access);
    await sandbox.commands.run('true');
    firstSandboxMs.push(performance.now() - startedMs);
    await sandbox.kill();
  }
  return info;
}

/** The image of the template `base`, which stands for `e2bdev/base` here, as this machine reaches it. */
async function findBase(): Promise<string> {
  const { spec } = await client.get(sandboxTemplates, { namespace: 'tenant-a', name: 'base' });
  return (spec.podTemplate.spec.containers[0]?.image ?? '').replace(/^[^/]+/, host);
}

async function countReplicas(): Promise<number> {
  const { items } = await client.list(pods, {
    namespace: 'sandlot-system',
    labelSelector: 'app.kubernetes.io/component=api',
  });
  return Math.max(items.length, 1);
}
