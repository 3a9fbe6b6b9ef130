import { keepAddedNodes } from '../added-node/added-node.ts';
import type { BinaryName } from '../binaries/catalog.ts';
import { ensureBinaries } from '../binaries/ensure.ts';
import { resolveChoices } from '../cluster/choices.ts';
import { ensureComponent } from '../cluster/component.ts';
import type { ClusterContext } from '../cluster/control-plane.ts';
import { ensureControlPlane } from '../cluster/control-plane.ts';
import type { ClusterHandle } from '../cluster/handle.ts';
import { createClusterHandle } from '../cluster/handle.ts';
import { getClusterPaths, machinePaths } from '../cluster/paths.ts';
import { NotRootError } from '../errors.ts';
import { ensurePackages } from '../packages.ts';
import { withLock } from '../process/lock.ts';
import type { Progress } from '../progress.ts';
import { silentProgress, withStep } from '../progress.ts';
import { ensurePauseImage } from './pause-image.ts';
import { removeMachineState } from './cleanup.ts';
import { buildContainerdComponent } from './containerd.ts';
import { buildDnsComponent, buildDnsManifests } from './dns.ts';
import { gvisorClass } from './gvisor.ts';
import { buildKubeletComponent } from './kubelet.ts';
import { nodePackages, prepareMachine } from './machine.ts';
import { buildNetworkPolicyComponent, buildNetworkPolicyManifests } from './network-policy.ts';
import { ensureNetwork, getNodeAddress } from './network.ts';
import { applyObjects, waitForNode, waitForPodsOf } from './objects.ts';
import { assertNotOwnedByOther, readOwnership, takeOwnership } from './owner.ts';
import { getFirstPlace, nodeName } from './place.ts';
import { proxyComponent } from './proxy.ts';
import { buildRegistryComponent } from './registry.ts';
import { buildStorageComponent, buildStorageManifests } from './storage.ts';

const binaries: readonly BinaryName[] = [
  'kube',
  'pki',
  'pause',
  'registry',
  'coredns',
  'volumes',
  'network-policy',
  'crane',
  'helm',
  'containerd',
  'containerd-shim-runc-v2',
  'runsc',
  'containerd-shim-runsc-v1',
];
const lockTimeoutMs = 30 * 60_000;

/** The checkout, and where to report progress. */
export interface ClusterOptions {
  /** The checkout. The cluster's state is in its folder `.sandlot`. */
  root: string;
  /** Names of added nodes that stay. `createCluster` repairs them, if they exist, and removes all others. Default none. */
  keepNodes?: readonly string[] | undefined;
  progress?: Progress | undefined;
}

/**
 * Creates a real Kubernetes cluster with one real node on this machine. Keeps healthy components and starts all others, so
 * a second call is fast and repairs. Throws NotRootError, ClusterOwnedError, MissingToolError or ComponentError.
 */
export async function createCluster(options: ClusterOptions): Promise<ClusterHandle> {
  if (process.getuid?.() !== 0) throw new NotRootError();
  const { root, progress = silentProgress } = options;
  return withLock(machinePaths.lock, { timeoutMs: lockTimeoutMs }, async () => {
    const ownership = await readOwnership(root);
    assertNotOwnedByOther(ownership);
    const bin = await ensureBinaries(binaries, { progress });
    await ensurePackages(nodePackages, { progress });
    if (ownership.kind === 'stale') {
      await withStep(progress, `Cleaning up after the cluster of ${ownership.owner}`, async () =>
        removeMachineState(getClusterPaths(ownership.owner)),
      );
    }
    await takeOwnership(root);
    const paths = getClusterPaths(root);
    const context: ClusterContext = { paths, bin, choices: await resolveChoices(paths, 'node') };
    await startComponents(context, progress);
    await keepAddedNodes(context, options.keepNodes ?? [], progress);
    return createClusterHandle(context, getNodeAddress(context.choices.podNetwork));
  });
}

async function startComponents(context: ClusterContext, progress: Progress): Promise<void> {
  const { paths, choices, bin } = context;
  const address = getNodeAddress(choices.podNetwork);
  await withStep(progress, 'Network and image registry', async () => {
    await prepareMachine();
    await ensureNetwork(choices.podNetwork);
    await ensureComponent(paths, buildRegistryComponent(context));
    await ensurePauseImage({ host: `127.0.0.1:${choices.ports.registry}`, bin });
  });
  await withStep(progress, 'Control plane', async () =>
    ensureControlPlane(context, {
      address,
      apiServerFlags: listNodeApiServerFlags(context, address),
      certificates: listNodeCertificates(address),
    }),
  );
  await withStep(progress, 'Node', async (step) => {
    const place = getFirstPlace(context);
    const dns = buildDnsManifests(choices.podNetwork, choices.ports.dns);
    await applyObjects(context, [
      ...buildStorageManifests(),
      ...buildNetworkPolicyManifests(),
      ...dns,
      kubeletAccess,
      gvisorClass,
    ]);
    await ensureComponent(paths, await buildNetworkPolicyComponent(context));
    await ensureComponent(paths, await buildContainerdComponent(context, place));
    const [kubelet] = await Promise.all([
      ensureComponent(paths, await buildKubeletComponent(context, place)),
      ensureComponent(paths, proxyComponent(context)),
      ensureComponent(paths, await buildDnsComponent(context)),
      ensureComponent(paths, await buildStorageComponent(context)),
    ]);
    step.update('waiting until the node is Ready');
    await waitForNode(context, place.name);
    if (kubelet === 'kept') return;
    step.update('waiting until the kubelet knows its pods');
    await waitForPodsOf(context, place.name);
  });
}

function listNodeApiServerFlags({ paths }: ClusterContext, address: string): string[] {
  return [
    `--advertise-address=${address}`,
    '--kubelet-preferred-address-types=InternalIP',
    `--kubelet-certificate-authority=${paths.pki}/ca.crt`,
    `--kubelet-client-certificate=${paths.pki}/apiserver-kubelet-client.crt`,
    `--kubelet-client-key=${paths.pki}/apiserver-kubelet-client.key`,
    '--enable-aggregator-routing',
    '--allow-privileged',
    '--enable-admission-plugins=NodeRestriction',
  ];
}

function listNodeCertificates(address: string): Parameters<typeof ensureControlPlane>[1]['certificates'] {
  return [
    { name: 'kubelet', commonName: `system:node:${nodeName}`, organizations: ['system:nodes'], ips: [address] },
    { name: 'proxy', commonName: 'system:kube-proxy' },
    { name: 'dns', commonName: 'sandlot:dns' },
    { name: 'storage', commonName: 'sandlot:storage' },
    { name: 'network-policy', commonName: 'sandlot:network-policy' },
    { name: 'apiserver-kubelet-client', commonName: 'sandlot:apiserver-kubelet-client' },
  ];
}

/** Lets the API server read logs and run commands through the kubelet. */
const kubeletAccess = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'sandlot:apiserver-kubelet-client' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:kubelet-api-admin' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'sandlot:apiserver-kubelet-client' }],
};
