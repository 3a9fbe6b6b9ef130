import type { ApiClient } from '../api-client.ts';
import { applyObject } from '../api-client.ts';
import { waitFor } from '../process/wait.ts';

// The API server returns 1000 as "1k", which some tools misread.
const podsPerNode = '999';

/** Creates nodes that kwok manages, named `simulated-1` and so on, and waits until all are Ready. */
export async function createSimulatedNodes(api: ApiClient, count: number): Promise<void> {
  const names = Array.from({ length: count }, (_, index) => `simulated-${index + 1}`);
  for (const name of names) {
    await applyObject(api, `/api/v1/nodes/${name}`, buildSimulatedNode(name));
    await applyObject(api, `/api/v1/nodes/${name}/status`, { ...buildSimulatedNode(name), status: capacity() });
  }
  await waitFor(async () => (await Promise.all(names.map((name) => isReady(api, name)))).every(Boolean), {
    what: 'simulated nodes to be Ready',
    timeoutMs: 60_000,
  });
}

function buildSimulatedNode(name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      annotations: { 'kwok.x-k8s.io/node': 'fake', 'node.alpha.kubernetes.io/ttl': '0' },
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'sandlot.dev/simulated': 'true',
      },
    },
  };
}

function capacity(): object {
  const amount = { cpu: '512', memory: '2Ti', 'ephemeral-storage': '16Ti', pods: podsPerNode };
  return { capacity: amount, allocatable: amount };
}

async function isReady(api: ApiClient, name: string): Promise<boolean> {
  const { status, body } = await api.call('GET', `/api/v1/nodes/${name}`);
  return status === 200 && /"reason":\s*"KubeletReady"/.test(body);
}
