// What hibernation costs, on the cluster of `npm run up`: npm run bench:hibernate [-- --rounds 5 --fork-rounds 2 --json FILE]
import { writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { sandboxTemplates } from '@sandlot/api-types';
import { createKubeClient, loadCredentials } from '@sandlot/kube';
import { openCluster } from '@sandlot/local-cluster';
import { checkoutRoot } from '@sandlot/up';
import { readAccess } from '../../src/support/sdk/client.ts';
import { fillGoldenPool } from './golden.ts';
import { RawContainer } from './raw.ts';
import { renderGolden, renderReport } from './report.ts';
import type { Measured } from './report.ts';
import { saveSamePod } from './same-pod.ts';
import { createTemplate, fork, openHolder, sleepAndWake, startBarePod, takeSnapshot } from './stand.ts';
import type { Stand } from './stand.ts';
import { settle } from './use-memory.ts';

const NAMESPACE = 'tenant-a';
/** The chart's default of `hibernation.node.storeFolder`. This machine is the node. */
const STORE = '/var/lib/sandlot/snapshots';

const { values: flags } = parseArgs({
  options: {
    'fork-rounds': { type: 'string', default: '2' },
    json: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    sizes: { type: 'string', default: '16,256,1024' },
  },
});
const [rounds, forkRounds] = [Number(flags.rounds), Number(flags['fork-rounds'])];
const sizes = flags.sizes.split(',').map(Number);
const say = (text: string): void => void process.stderr.write(`${text}\n`);
const load = loadavg()[0]?.toFixed(1) ?? '?';

await using stack = new AsyncDisposableStack();
const cluster = await openCluster({ root: checkoutRoot });
if (cluster === undefined) throw new Error('no cluster is up; run npm run up');
const credentials = await loadCredentials({ kubeconfig: cluster.kubeconfigPath });
const client = stack.adopt(createKubeClient({ credentials }), (made) => made.close());
const base = await client.get(sandboxTemplates, { namespace: NAMESPACE, name: 'base' });
const image = base.spec.podTemplate.spec.containers[0]?.image ?? '';
const template = `bench-hibernate-${process.pid}`;
const stand: Stand = { client, namespace: NAMESPACE, template, image, options: await readAccess(), storeFolder: STORE };
await createTemplate(stand);
stack.defer(async () => {
  await client.delete(sandboxTemplates, { namespace: NAMESPACE, name: template });
});

const measured: Measured[] = [];
for (const mebibytes of sizes) {
  measured.push(await measureSize(mebibytes));
  await store({ sizes: measured });
}
say('golden pool …');
const golden = await fillGoldenPool(stand, rounds);
await store({ sizes: measured, golden });
console.log(
  `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} cores, load ${load} before, ${rounds} rounds, ${forkRounds} of forks\n`,
);
console.log(renderReport(measured));
console.log(`\n${renderGolden(golden, measured)}`);

async function store(results: object): Promise<void> {
  if (flags.json !== undefined) await writeFile(flags.json, `${JSON.stringify(results, undefined, 2)}\n`);
}

/** The floors take turns with what they are compared with. Forks come last: the end of ten of them loads the machine. */
async function measureSize(mebibytes: number): Promise<Measured> {
  await using raw = await RawContainer.start(mebibytes);
  const sandbox = await openHolder(stand, mebibytes);
  const result = {
    mebibytes,
    raw: [],
    samePod: [],
    barePodMs: [],
    snapshots: [],
    sleeps: [],
    forksOf1: [],
    forksOf10: [],
  } as Measured & Growing;
  try {
    for (let round = 0; round < rounds; round += 1) {
      say(`${mebibytes} MiB, round ${round + 1} of ${rounds} …`);
      await settle(mebibytes);
      result.raw.push(await raw.measure());
      await settle(mebibytes);
      result.barePodMs.push(await startBarePod(stand, `${template}-bare`));
      await settle(mebibytes);
      result.samePod.push(await saveSamePod(stand, sandbox, mebibytes));
      await settle(mebibytes);
      result.snapshots.push(await takeSnapshot(stand, sandbox, `${template}-${mebibytes}-${round}`));
      result.sleeps.push(await sleepAndWake(stand, sandbox, () => settle(mebibytes)));
    }
    // The last resume may still load its memory from the disk, and a save waits for that.
    if (forkRounds > 0) await takeSnapshot(stand, sandbox, `${template}-${mebibytes}-loaded`);
    for (let round = 0; round < forkRounds; round += 1) {
      await settle(mebibytes);
      result.forksOf1.push(await fork(stand, sandbox, 1));
    }
    for (let round = 0; round < forkRounds; round += 1) {
      say(`${mebibytes} MiB, forks of ten, round ${round + 1} of ${forkRounds} …`);
      await settle(mebibytes);
      result.forksOf10.push(await fork(stand, sandbox, 10));
    }
  } finally {
    await sandbox.kill();
  }
  return result;
}

type Growing = { readonly [Key in keyof Omit<Measured, 'mebibytes'>]: Measured[Key][number][] };
