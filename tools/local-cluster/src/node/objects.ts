import type { ClusterContext } from '../cluster/control-plane.ts';
import { formatComponentKubeconfig } from '../cluster/control-plane.ts';
import { exec, execOrThrow } from '../process/exec.ts';
import { waitFor } from '../process/wait.ts';

/** Creates or updates objects. */
export async function applyObjects(context: ClusterContext, manifests: readonly object[]): Promise<void> {
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests });
  const flags = ['--server-side', '--force-conflicts', '--field-manager=local-cluster', '-f', '-'];
  await execOrThrow(kubectl(context, ['apply', ...flags]), { input: list });
}

/** Waits until a node is Ready. */
export async function waitForNode(context: ClusterContext, name: string): Promise<void> {
  const path = '{.status.conditions[?(@.type=="Ready")].status}';
  const args = ['get', 'node', name, '--ignore-not-found', `--output=jsonpath=${path}`];
  const isReady = async () => (await execOrThrow(kubectl(context, args))).stdout === 'True';
  await waitFor(isReady, { what: `the node ${name} to be Ready`, timeoutMs: 120_000, everyMs: 200 });
}

/**
 * Waits until the kubelet knows every pod bound to its node. A restarted kubelet is healthy, and its node is still Ready,
 * before it knows any pod; `kubectl exec` fails until then.
 */
export async function waitForPodsOf(context: ClusterContext, name: string): Promise<void> {
  await waitFor(() => hasSeenItsPods(context, name), {
    what: `the kubelet of ${name} to know its pods`,
    timeoutMs: 60_000,
    everyMs: 200,
  });
}

async function hasSeenItsPods(context: ClusterContext, name: string): Promise<boolean> {
  const uids = ['--output=jsonpath={.items[*].metadata.uid}', `--field-selector=spec.nodeName=${name}`];
  const bound = await exec(kubectl(context, ['get', 'pods', '--all-namespaces', ...uids]));
  const known = await exec(kubectl(context, ['get', '--raw', `/api/v1/nodes/${name}/proxy/pods`]));
  if (bound.code !== 0 || known.code !== 0) return false;
  return bound.stdout.split(' ').every((uid) => known.stdout.includes(uid));
}

/**
 * Deletes the objects of a node whose kubelet has ended, and its pods, which only a kubelet could end in order. Does nothing
 * without a node.
 */
export async function deleteNode(context: ClusterContext, name: string): Promise<void> {
  await execOrThrow(kubectl(context, ['delete', 'node', name, '--ignore-not-found']));
  const pods = ['--all-namespaces', `--field-selector=spec.nodeName=${name}`];
  await execOrThrow(kubectl(context, ['delete', 'pods', ...pods, '--force', '--grace-period=0', '--wait=false']));
}

function kubectl({ paths, bin }: ClusterContext, args: readonly string[]): string[] {
  return [bin('kube'), 'kubectl', `--kubeconfig=${formatComponentKubeconfig(paths, 'admin')}`, ...args];
}
