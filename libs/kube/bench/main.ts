// Compares libs/kube with the stock client against one real control plane: npm run bench:kube [-- --json FILE] [--quick]
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startControlPlane } from '@sandlot/local-cluster';
import { createKubeClient, loadCredentials } from '../src/index.ts';
import { renderReport } from './report.ts';
import type { Results } from './report.ts';
import { measureMemory, measureRecovery, measureRequests, seed } from './scenarios.ts';
import type { Sizes } from './scenarios.ts';

const { values: flags } = parseArgs({
  options: { json: { type: 'string' }, quick: { type: 'boolean', default: false } },
});
const sizes: Sizes = flags.quick
  ? { pods: 500, requests: 400, rounds: 1, recoveryLimitMs: 20_000 }
  : { pods: 10_000, requests: 4_000, rounds: 3, recoveryLimitMs: 300_000 };

const logProgress = (text: string): void => void process.stderr.write(`${text}\n`);
const folder = await mkdtemp(join(tmpdir(), 'sandlot-bench-'));
logProgress('starting a control plane');
const plane = await startControlPlane({ heapGrowthPercent: 100 });
try {
  const kubeconfig = plane.kubeconfigPath;
  const credentials = await loadCredentials({ kubeconfig });
  const client = createKubeClient({ credentials, limits: { normal: { perSecond: 1e9, burst: 1e9 } } });
  const cluster = { kubeconfig, credentials, client, folder };
  logProgress(`making ${sizes.pods} pods`);
  await seed(cluster, sizes);
  const step = <T>(text: string, work: Promise<T>): Promise<T> => (logProgress(text), work);
  const { version } = createRequire(import.meta.url)('@kubernetes/client-node/package.json') as { version: string };
  const { stdout } = await plane.kubectl(['version', '-o', 'json']);
  const { serverVersion } = JSON.parse(stdout) as { serverVersion: { gitVersion: string } };
  const results: Results = {
    date: new Date().toISOString(),
    versions: { node: process.version, 'client-node': version, kubernetes: serverVersion.gitVersion },
    cpus: `${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}`,
    sizes,
    get: await step('get', measureRequests(cluster, sizes, 'get')),
    write: await step('create and patch', measureRequests(cluster, sizes, 'write')),
    list: await step('list', measureMemory(cluster, sizes, 'list')),
    cache: await step('informer cache', measureMemory(cluster, sizes, 'cache')),
    recovery: await step('recovery from faults', measureRecovery(cluster, sizes)),
  };
  await client.close();
  process.stdout.write(renderReport(results));
  if (flags.json !== undefined) await writeFile(flags.json, `${JSON.stringify(results, undefined, 2)}\n`);
} finally {
  await plane.stop();
  await rm(folder, { recursive: true });
}
