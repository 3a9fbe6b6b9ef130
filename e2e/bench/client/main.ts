// What clients wait for at the gateway and the API, on the cluster of `npm run up`: npm run bench:door [-- --json FILE]
import { writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { findCondition, sandboxClaims, sandboxes, sandboxWarmPools } from '@sandlot/api-types';
import type { Sandbox as Sandboxed } from '@sandlot/api-types';
import { createKubeClient, loadCredentials, namespaces } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { openCluster } from '@sandlot/local-cluster';
import { checkoutRoot } from '@sandlot/up';
import { Sandbox } from 'e2b';
import { readAccess } from '../../src/support/sdk/client.ts';
import { measureFloor } from '../support/claim-timeline.ts';
import { timeInTurn, listWays } from './calls.ts';
import { renderClientReport } from './report.ts';
import { measureWakes } from './wakes.ts';

const NAMESPACE = 'tenant-a';
const POOL = 'base';
const WARM_UP = 30;

const { values } = parseArgs({
  options: {
    json: { type: 'string' },
    calls: { type: 'string', default: '300' },
    creates: { type: 'string', default: '20' },
    wakes: { type: 'string', default: '10' },
  },
});
const say = (text: string): void => void process.stderr.write(`${text}\n`);
const options = await readAccess();
const load = loadavg()[0]?.toFixed(1) ?? '?';
await using stack = new AsyncDisposableStack();
const cluster = await openCluster({ root: checkoutRoot });
if (cluster === undefined) throw new Error('no cluster is up; run npm run up');
const credentials = await loadCredentials({ kubeconfig: cluster.kubeconfigPath });
const client = stack.adopt(createKubeClient({ credentials }), (made) => made.close());

say('commands …');
const commands = await measureCommands(client);
say('creates …');
const { creates, createFloor } = await measureCreates(client);
say('wakes …');
const wakes = await measureWakes({ client, namespace: NAMESPACE, options, rounds: Number(values.wakes) });
const figures = {
  commands,
  creates,
  createFloor,
  wakesByRequest: wakes.byRequest,
  wakesByConnect: wakes.byConnect,
};
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(figures, undefined, 2)}\n`);
console.log(
  `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} cores, load ${load} before\n`,
);
console.log(renderClientReport(figures));

async function measureCommands(kube: KubeClient): Promise<Record<string, number[]>> {
  const sandbox = await Sandbox.create(POOL, { ...options, timeoutMs: 600_000 });
  try {
    const { status } = await kube.get(sandboxClaims, { namespace: NAMESPACE, name: sandbox.sandboxId });
    const podIP = status?.sandbox?.podIPs?.[0] ?? '';
    const token = String(Reflect.get(sandbox, 'envdAccessToken'));
    const { sandboxId } = sandbox;
    const sandboxUrl = `http://${podIP}:49983`;
    const direct = new Sandbox({ ...options, sandboxId, sandboxUrl, envdVersion: '0.6.4', envdAccessToken: token });
    const ways = listWays({ sandbox, direct, token, gateway: new URL(options.sandboxUrl), podIP });
    await timeInTurn(ways, WARM_UP);
    return Object.fromEntries(await timeInTurn(ways, Number(values.calls)));
  } finally {
    await sandbox.kill();
  }
}

/** Creates sandboxes one at a time, each from a full pool. */
async function measureCreates(kube: KubeClient): Promise<{ creates: number[]; createFloor: number[] }> {
  const name = `bench-door-${process.pid}`;
  await kube.create(namespaces, { metadata: { name } });
  const creates: number[] = [];
  try {
    const createFloor = await measureFloor(kube, name, Number(values.creates));
    for (let count = 0; count < Number(values.creates); count += 1) {
      await waitUntilFull(kube);
      const startedMs = performance.now();
      const sandbox = await Sandbox.create(POOL, { ...options, timeoutMs: 60_000 });
      creates.push(performance.now() - startedMs);
      await sandbox.kill();
    }
    return { creates, createFloor };
  } finally {
    await kube.delete(namespaces, { name });
  }
}

/** Waits until all members are Ready. The pool's status may lag behind, and a starting member would disturb the measurement. */
async function waitUntilFull(kube: KubeClient): Promise<void> {
  const { spec } = await kube.get(sandboxWarmPools, { namespace: NAMESPACE, name: POOL });
  for (;;) {
    const { items } = await kube.listAll(sandboxes, { namespace: NAMESPACE });
    const members = items.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.name === POOL));
    const isReady = (one: Sandboxed): boolean => findCondition(one.status?.conditions, 'Ready')?.status === 'True';
    if (members.filter(isReady).length === spec.replicas) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await new Promise((resolve) => setTimeout(resolve, 1_000));
}
