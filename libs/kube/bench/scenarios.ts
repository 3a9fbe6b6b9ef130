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
  /** Seeds and injects; never measured. */
  readonly client: KubeClient;
  /** A folder for files of this run. */
  readonly folder: string;
}

export interface Sizes {
  readonly pods: number;
  readonly requests: number;
  readonly rounds: number;
  /** How long a client may take to recover before it counts as lost. */
  readonly recoveryLimitMs: number;
}

export interface Recovery {
  readonly fault: Fault;
  readonly contender: ContenderName;
  /** Until an object made right after the fault was delivered; undefined when it never was. */
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

function podNamed(name: string): Pod {
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

/** The pods that are read and listed; no scheduler runs, so they stay as they are. */
export async function seed({ client }: Cluster, { pods: count }: Sizes): Promise<void> {
  await client.create(namespaces, { metadata: { name: NAMESPACE } });
  await client.create(serviceAccounts, { metadata: { namespace: NAMESPACE, name: 'default' } });
  let next = 0;
  const maker = async (): Promise<void> => {
    while (next < count) await client.create(pods, podNamed(`pod-${next++}`));
  };
  await Promise.all(Array.from({ length: 32 }, maker));
}

/** Rounds of both clients in turn, each in a fresh process. */
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

/** Every fault for every client, all at the same time: the clients are idle but for the one event they wait for. */
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
      const lines = reader(worker);
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

/** Finds lines a worker prints, those printed before the question included. */
function reader(worker: ChildProcess) {
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
