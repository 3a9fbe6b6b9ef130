import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { dirname } from 'node:path';
import { LocalClusterError } from '../errors.ts';
import { exec } from '../process/exec.ts';
import { findFreePort, isFree } from '../process/ports.ts';
import { isRunning } from '../process/identity.ts';
import { waitFor } from '../process/wait.ts';
import { readRecords } from './component.ts';
import type { ClusterPaths } from './paths.ts';

/** The kind of cluster a checkout has. */
export type ClusterMode = 'node' | 'simulated';

/** Every port, and the component that listens on it. */
const ports = {
  apiserver: 'kube-apiserver',
  etcdMetrics: 'etcd',
  controllerManager: 'kube-controller-manager',
  scheduler: 'kube-scheduler',
  registry: 'registry',
  kubelet: 'kubelet',
  kubeletHealth: 'kubelet',
  proxyHealth: 'kube-proxy',
  proxyMetrics: 'kube-proxy',
  dns: 'coredns',
  dnsReady: 'coredns',
  kwok: 'kwok',
  nats: 'nats-server',
  redis: 'redis-server',
} as const;

/** The name of a port. */
export type PortName = keyof typeof ports;

/** Choices made when the cluster is created. They stay the same while it exists. */
export interface ClusterChoices {
  mode: ClusterMode;
  ports: Record<PortName, number>;
  /** Network address of a /22, such as 10.244.0.0. The bridge, and thus the node, has the first address in it. */
  podNetwork: string;
}

// Fixed where possible because people type these two. The others only need to be free.
const preferred: Partial<Record<PortName, number>> = { apiserver: 16_443, registry: 15_000 };
const podNetworks = ['10.244.0.0', '10.243.0.0', '10.242.0.0', '172.29.0.0', '192.168.244.0'];

/** Reads the stored choices, or makes and stores them. Replaces a port that another program has taken meanwhile. */
export async function resolveChoices(paths: ClusterPaths, mode: ClusterMode): Promise<ClusterChoices> {
  const remembered = await readChoices(paths);
  assertSameMode(remembered?.mode ?? mode, mode);
  const running = await findRunningComponents(paths);
  const taken: number[] = [];
  const choose = async (name: PortName) => {
    const port = remembered?.ports[name] ?? preferred[name];
    const chosen = await keepOrReplace({ port, inUseByUs: running.has(ports[name]), taken });
    taken.push(chosen);
    return chosen;
  };
  const podNetwork = remembered?.podNetwork ?? pickPodNetwork(await listUsedAddresses());
  const choices = { mode, ports: await choosePorts(choose), podNetwork };
  await mkdir(dirname(paths.choices), { recursive: true });
  await writeFile(paths.choices, JSON.stringify(choices, undefined, 2));
  return choices;
}

/** Returns the choices of this checkout's cluster, or undefined if it has none. */
export async function readChoices(paths: ClusterPaths): Promise<ClusterChoices | undefined> {
  const text = await readFile(paths.choices, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const value: unknown = JSON.parse(text);
  return isChoices(value) ? value : undefined;
}

function assertSameMode(present: ClusterMode, wanted: ClusterMode): void {
  if (present === wanted) return;
  const kinds = { node: 'a real node', simulated: 'simulated nodes' };
  const message = `this checkout has a cluster with ${kinds[present]}, not with ${kinds[wanted]}`;
  throw new LocalClusterError('OTHER_MODE', `${message}\nRemove it first: npm run down`);
}

/** Returns the first candidate network that contains none of the given addresses and networks. */
export function pickPodNetwork(used: readonly string[]): string {
  const free = podNetworks.find((network) => !used.some((address) => hasSameSlash16(network, address)));
  if (free === undefined) {
    throw new LocalClusterError(
      'COMPONENT_FAILED',
      `every candidate for the pod network is in use: ${used.join(', ')}`,
    );
  }
  return free;
}

function hasSameSlash16(a: string, b: string): boolean {
  return a.split('.').slice(0, 2).join('.') === b.split('.').slice(0, 2).join('.');
}

async function choosePorts(choose: (name: PortName) => Promise<number>): Promise<ClusterChoices['ports']> {
  return {
    apiserver: await choose('apiserver'),
    etcdMetrics: await choose('etcdMetrics'),
    controllerManager: await choose('controllerManager'),
    scheduler: await choose('scheduler'),
    registry: await choose('registry'),
    kubelet: await choose('kubelet'),
    kubeletHealth: await choose('kubeletHealth'),
    proxyHealth: await choose('proxyHealth'),
    proxyMetrics: await choose('proxyMetrics'),
    dns: await choose('dns'),
    dnsReady: await choose('dnsReady'),
    kwok: await choose('kwok'),
    nats: await choose('nats'),
    redis: await choose('redis'),
  };
}

async function keepOrReplace(candidate: {
  port: number | undefined;
  inUseByUs: boolean;
  taken: readonly number[];
}): Promise<number> {
  const { port, inUseByUs, taken } = candidate;
  if (port !== undefined && (inUseByUs || (await isFreeSoon(port)))) return port;
  for (;;) {
    const other = await findFreePort();
    if (!taken.includes(other)) return other;
  }
}

/** Waits up to a second: a component that was just killed holds its port until its last thread is gone. */
async function isFreeSoon(port: number): Promise<boolean> {
  return waitFor(() => isFree(port), { what: `port ${port}`, timeoutMs: 1_000 }).catch(() => false);
}

async function findRunningComponents(paths: ClusterPaths): Promise<Set<string>> {
  const names = new Set<string>();
  for (const record of await readRecords(paths)) if (await isRunning(record)) names.add(record.name);
  return names;
}

/** Lists the machine's addresses and routed networks, except those of a bridge left over from an earlier cluster. */
async function listUsedAddresses(): Promise<string[]> {
  const own = Object.entries(networkInterfaces()).filter(([link]) => link !== 'sandlot0');
  const addresses = own.flatMap(([, list]) => (list ?? []).map((entry) => entry.address));
  const { stdout } = await exec(['ip', '-4', 'route', 'show', 'table', 'main']);
  const routes = stdout.split('\n').filter((line) => !line.includes('dev sandlot0'));
  return [...addresses, ...routes.map((line) => line.split(/[ /]/)[0] ?? '')];
}

function isChoices(value: unknown): value is ClusterChoices {
  return typeof value === 'object' && value !== null && 'mode' in value && 'ports' in value && 'podNetwork' in value;
}
