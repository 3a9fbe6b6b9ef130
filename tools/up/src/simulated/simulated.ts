import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { getClusterPaths, ensureComponent, readClusterStatus, createSimulatedCluster } from '@sandlot/local-cluster';
import type { ClusterHandle, Progress, Component } from '@sandlot/local-cluster';
import { createCommandError } from '../command.ts';
import { UpError } from '../errors.ts';
import { bundleControllers } from '../images/build.ts';
import { computeContentKey } from '../images/content-key.ts';
import type { ControllerName } from '../images/recipes.ts';
import { controllerNames } from '../images/recipes.ts';
import { checkoutRoot } from '../paths.ts';
import type { Target } from '../target.ts';
import { createLocalTarget } from '../target.ts';

const ESTABLISHED_LIMIT_MS = 60_000;
const node = join(checkoutRoot, 'node_modules/node/bin/node');

/** The port numbers of one controller. */
interface ControllerPorts {
  readonly probe: number;
  readonly metrics: number;
}

/**
 * Starts a control plane with simulated nodes, and the controllers as processes on this machine. They are components of
 * the cluster like etcd: `npm run status` shows them and `npm run down` stops them. Needs no root.
 */
export async function startSimulated(progress: Progress): Promise<{ target: Target; kube: string }> {
  await requireNoComponent('kubelet', 'a cluster with a real node');
  const cluster = await createSimulatedCluster({ root: checkoutRoot, progress });
  await installCrds(cluster);
  await startVolumeProvisioner(cluster);
  const step = progress.startStep('Starting the controllers');
  try {
    await bundleControllers();
    const ports = await choosePorts(cluster);
    await Promise.all(
      controllerNames.map(async (name) =>
        ensureComponent(getClusterPaths(checkoutRoot), await buildControllerComponent(cluster, name, ports[name])),
      ),
    );
  } catch (error) {
    step.fail();
    throw error;
  }
  step.finish('as processes on this machine');
  return { target: createLocalTarget(cluster), kube: await cluster.bin('kube') };
}

/** Throws an UpError if the checkout has this component, running or not: a checkout has only one kind of cluster. */
export async function requireNoComponent(component: 'kubelet' | 'kwok', what: string): Promise<void> {
  const components = await readClusterStatus({ root: checkoutRoot });
  if (!components.some(({ name }) => name === component)) return;
  throw new UpError({
    step: 'Starting the cluster',
    problem: `this checkout already has ${what}`,
    advice: 'Remove it first: npm run down',
  });
}

async function installCrds(cluster: ClusterHandle): Promise<void> {
  const folder = join(checkoutRoot, 'charts/sandlot/files/crds');
  const applied = await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', folder]);
  if (applied.code !== 0) throw createCommandError('Installing the CRDs', 'kubectl apply', applied);
  // `kubectl wait` fails at once on a CRD that has no conditions yet.
  const deadline = performance.now() + ESTABLISHED_LIMIT_MS;
  for (;;) {
    const waited = await cluster.kubectl(['wait', '--for=condition=Established', '--timeout=20s', '-f', folder]);
    if (waited.code === 0) return;
    if (performance.now() > deadline) throw createCommandError('Installing the CRDs', 'kubectl wait', waited);
    await delay(200);
  }
}

const storageClass = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name: 'standard', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
  provisioner: 'sandlot.dev/volumes',
  volumeBindingMode: 'WaitForFirstConsumer',
};

/** Provisions an unused folder for each disk: the scheduler waits until a pod's PersistentVolumeClaims are bound. */
async function startVolumeProvisioner(cluster: ClusterHandle): Promise<void> {
  const applied = await cluster.kubectl(['apply', '--server-side', '-f', '-'], JSON.stringify(storageClass));
  if (applied.code !== 0) throw createCommandError('Providing volumes', 'kubectl apply', applied);
  const folder = join(cluster.stateDir, 'data/volumes');
  await mkdir(folder, { recursive: true });
  await ensureComponent(getClusterPaths(checkoutRoot), {
    name: 'volumes',
    cwd: cluster.stateDir,
    argv: [await cluster.bin('volumes'), cluster.kubeconfigPath, storageClass.provisioner, folder],
    probe: { kind: 'alive' },
  });
}

async function buildControllerComponent(
  cluster: ClusterHandle,
  name: ControllerName,
  { probe, metrics }: ControllerPorts,
): Promise<Component> {
  const program = join(checkoutRoot, 'services', name, 'dist/main.js');
  return {
    name,
    cwd: cluster.stateDir,
    argv: [node, program],
    env: {
      KUBECONFIG: cluster.kubeconfigPath,
      PROBE_PORT: String(probe),
      METRICS_PORT: String(metrics),
      ...(cluster.nats === undefined ? {} : { NATS_URL: cluster.nats.url }),
    },
    configuration: await computeContentKey([], [{ target: 'main.js', source: program }]),
    probe: { kind: 'http', url: `http://127.0.0.1:${probe}/readyz` },
  };
}

/** Chooses ports once per cluster, so that a running controller keeps its configuration. */
async function choosePorts(cluster: ClusterHandle): Promise<Readonly<Record<ControllerName, ControllerPorts>>> {
  const file = join(cluster.stateDir, 'controller-ports.json');
  const remembered = await readFile(file, 'utf8').catch(() => undefined);
  if (remembered !== undefined) return JSON.parse(remembered) as Record<ControllerName, ControllerPorts>;
  const ports = {
    'sandbox-controller': await findFreePorts(),
    'warmpool-controller': await findFreePorts(),
    'claim-controller': await findFreePorts(),
  };
  await writeFile(file, JSON.stringify(ports, undefined, 2));
  return ports;
}

async function findFreePorts(): Promise<ControllerPorts> {
  return { probe: await findFreePort(), metrics: await findFreePort() };
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
