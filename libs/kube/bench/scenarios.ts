import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { defineResource, namespaces, pods } from '../src/index.ts';
import type { Credentials, KubeClient, KubeObject, Pod } from '../src/index.ts';
import type { ContenderName } from './contenders.ts';
import { FAULTS, startFaultProxy } from './faults.ts';
import type { Fault } from './faults.ts';
import type { Job, ListResult, RequestsResult } from './worker.ts';

export interface Cluster {
  readonly kubeconfig: string;
  readonly credentials: Credentials;
  /** Creates test objects. Not measured. */
  readonly client: KubeClient;
  /** Folder for the files of this run. */
  readonly folder: string;
}

export interface Sizes {
  readonly pods: number;
  readonly requests: number;
  readonly rounds: number;
  /** After this time, a client counts as not recovered. */
  readonly recoveryLimitMs: number;
}

export interface Recovery {
  readonly fault: Fault;
  readonly contender: ContenderName;
  /** Time until the client saw an object created right after the fault. Undefined when it never did. */
  readonly recoveredMs: number | undefined;
}

export const NAMESPACE = 'bench';
const CONCURRENCY = 16;
const MEASURED: readonly ContenderName[] = ['stock', 'sandlot'];
const FOLLOWING: readonly ContenderName[] = ['sandlot', 'stock', 'restarted'];

const serviceAccounts = defineResource<KubeObject>({
  group: '',
  version: 'v1',
  plural: 'serviceaccounts',
  kind: 'ServiceAccount',
  namespaced: true,
});
const configMaps = defineResource<KubeObject>({ ...serviceAccounts, plural: 'configmaps', kind: 'ConfigMap' });

function buildPod(name: string): Pod {
  const env = Array.from({ length: 6 }, (_, n) => ({ name: `SETTING_${n}`, value: `value of setting ${n}` }));
  const resources = { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '1', memory: '512Mi' } };
  return {
    metadata: {
      namespace: NAMESPACE,
      name,
      labels: { app: 'agent', pool: `pool-${name.length}`, hash: name },
      annotations: { description: `The pod ${name}, made to be listed` },
    },
    spec: {
      containers: [{ name: 'main', image: 'agent:1', command: ['sleep', 'infinity'], env, resources }],
      automountServiceAccountToken: false,
    },
  };
}

/** Creates the pods that the clients read and list. No scheduler runs, so the pods do not change. */
export async function seed({ client }: Cluster, { pods: count }: Sizes): Promise<void> {
  await client.create(namespaces, { metadata: { name: NAMESPACE } });
  await client.create(serviceAccounts, { metadata: { namespace: NAMESPACE, name: 'default' } });
  let next = 0;
  const maker = async (): Promise<void> => {
    while (next < count) await client.create(pods, buildPod(`pod-${next++}`));
  };
  await Promise.all(Array.from({ length: 32 }, maker));
}

/** Runs both clients in turn, each round in a new process. */
export async function measureRequests(cluster: Cluster, sizes: Sizes, kind: 'get' | 'write') {
  const results: Record<string, RequestsResult[]> = { stock: [], sandlot: [] };
  for (let round = 0; round < sizes.rounds; round += 1) {
    for (const contender of MEASURED) {
      const load = { count: sizes.requests, concurrency: CONCURRENCY };
      const task =
        kind === 'get' ? { kind, pod: 'pod-0', ...load } : { kind, prefix: `${contender}-${round}`, ...load };
      results[contender]?.push(...(await runJob<RequestsResult>(cluster, { contender, task })));
    }
  }
  return results;
}

export async function measureMemory(cluster: Cluster, sizes: Sizes, kind: 'list' | 'cache') {
  const results: Record<string, ListResult[]> = { stock: [], sandlot: [] };
  for (let round = 0; round < sizes.rounds; round += 1) {
    for (const contender of MEASURED) {
      const task = kind === 'list' ? ({ kind, rounds: 3 } as const) : { kind };
      results[contender]?.push(...(await runJob<ListResult>(cluster, { contender, task })));
    }
  }
  return results;
}

/** Tests every fault with every client, all at the same time, because the clients only wait for one event. */
export async function measureRecovery(cluster: Cluster, sizes: Sizes): Promise<Recovery[]> {
  const runs = FAULTS.flatMap((fault) => FOLLOWING.map((contender) => ({ fault, contender })));
  return Promise.all(
    runs.map(async ({ fault, contender }, n) => {
      const proxy = await startFaultProxy(cluster.credentials);
      const kubeconfig = join(cluster.folder, `proxy-${n}.json`);
      await writeFile(kubeconfig, proxy.kubeconfig);
      const namespace = `fault-${n}`;
      await cluster.client.create(namespaces, { metadata: { name: namespace } });
      const worker = startWorker({ kubeconfig, namespace, contender, task: { kind: 'follow' } });
      const lines = readLinesOf(worker);
      const make = (name: string) => cluster.client.create(configMaps, { metadata: { namespace, name } });
      try {
        await lines.find({ synced: true }, 60_000);
        await make('before');
        if ((await lines.find({ added: 'before' }, 30_000)) === undefined)
          throw new Error(`${contender} delivers nothing`);
        proxy.inject(fault);
        const startedAt = performance.now();
        await make('after');
        const found = await lines.find({ added: 'after' }, sizes.recoveryLimitMs);
        return { fault, contender, recoveredMs: found === undefined ? undefined : performance.now() - startedAt };
      } finally {
        worker.kill();
        proxy.close();
      }
    }),
  );
}

function startWorker(job: Job): ChildProcess {
  const script = new URL('worker.ts', import.meta.url).pathname;
  return spawn(process.execPath, ['--expose-gc', script, JSON.stringify(job)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function runJob<R>({ kubeconfig }: Cluster, job: Pick<Job, 'contender' | 'task'>): Promise<R[]> {
  const worker = startWorker({ ...job, kubeconfig, namespace: NAMESPACE });
  const results: R[] = [];
  if (worker.stdout === null) throw new Error('worker has no output');
  createInterface(worker.stdout).on('line', (line) => results.push(JSON.parse(line) as R));
  const [code] = (await once(worker, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${job.contender} ${job.task.kind}: exit code ${code}`);
  return results;
}

/** Reads the lines that a worker prints. `find` also finds lines printed before the call. */
function readLinesOf(worker: ChildProcess) {
  if (worker.stdout === null) throw new Error('worker has no output');
  const seen = new Set<string>();
  const waiting = new Map<string, () => void>();
  createInterface(worker.stdout).on('line', (line) => {
    seen.add(line);
    waiting.get(line)?.();
  });
  return {
    async find(value: object, limitMs: number): Promise<true | undefined> {
      const line = JSON.stringify(value);
      if (seen.has(line)) return true;
      const { promise, resolve } = Promise.withResolvers<true | undefined>();
      waiting.set(line, () => resolve(true));
      const timer = setTimeout(() => resolve(undefined), limitMs);
      return promise.finally(() => clearTimeout(timer));
    },
  };
}
