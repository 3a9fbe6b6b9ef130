import { fileURLToPath } from 'node:url';
import { createKubeClient, loadCredentials, namespaces } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';

/** The user of the sandbox-controller, whose requests are counted. */
export const CONTROLLER_USER = 'sandbox-controller';

/** Namespaces of bare Pods, of the burst and of the quiet stage. */
export const SPACES = { bare: 'bare', burst: 'burst', quiet: 'quiet' } as const;

const CRDS = fileURLToPath(new URL('../../../charts/sandlot/files/crds', import.meta.url));

/** The rules of its role in the chart. */
const RULES = [
  { apiGroups: ['agents.x-k8s.io'], resources: ['sandboxes'], verbs: ['get', 'list', 'watch', 'patch', 'delete'] },
  { apiGroups: ['agents.x-k8s.io'], resources: ['sandboxes/status'], verbs: ['patch'] },
  { apiGroups: ['agents.x-k8s.io'], resources: ['sandboxes/finalizers'], verbs: ['update'] },
  {
    apiGroups: [''],
    resources: ['pods', 'services', 'persistentvolumeclaims'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  },
  { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['list', 'create', 'patch'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update', 'patch'] },
];

/** A control plane with simulated nodes, and an administrator's client without rate limits. */
export interface Surroundings extends AsyncDisposable {
  readonly plane: ControlPlane;
  readonly client: KubeClient;
  /** The controller's kubeconfig, with the priority that the API server gives to service accounts. */
  readonly controllerKubeconfig: string;
}

const PODS_PER_NODE = 999;

export async function startSurroundings(pods: number): Promise<Surroundings> {
  const kwokNodes = Math.ceil(pods / PODS_PER_NODE) + 1;
  const plane = await startControlPlane({
    heapGrowthPercent: 100,
    crds: [CRDS],
    scheduler: true,
    controllerManager: true,
    kwokNodes,
    audit: true,
  });
  const unlimited = { perSecond: 1e9, burst: 1e9 };
  const credentials = await loadCredentials({ kubeconfig: plane.kubeconfigPath });
  const client = createKubeClient({ credentials, limits: { normal: unlimited } });
  await allow(plane);
  for (const name of Object.values(SPACES)) {
    await client.create(namespaces, { metadata: { name } });
    await waitForServiceAccount(plane, name);
  }
  return {
    plane,
    client,
    controllerKubeconfig: await plane.kubeconfigFor(CONTROLLER_USER, ['system:serviceaccounts']),
    async [Symbol.asyncDispose]() {
      await client.close();
      await plane.stop();
    },
  };
}

/** Waits until the namespace has its service account; until then the API server refuses Pods. */
async function waitForServiceAccount(plane: ControlPlane, namespace: string): Promise<void> {
  const wait = ['wait', '--for=create', 'serviceaccount/default', `--namespace=${namespace}`, '--timeout=60s'];
  const { code, stderr } = await plane.kubectl(wait);
  if (code !== 0) throw new Error(`namespace ${namespace} admits no Pods: ${stderr}`);
}

async function allow(plane: ControlPlane): Promise<void> {
  const rbac = 'rbac.authorization.k8s.io';
  const metadata = { name: CONTROLLER_USER };
  const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name: CONTROLLER_USER };
  const subjects = [{ apiGroup: rbac, kind: 'User', name: CONTROLLER_USER }];
  const items = [
    { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata, rules: RULES },
    { apiVersion: `${rbac}/v1`, kind: 'ClusterRoleBinding', metadata, roleRef, subjects },
  ];
  const { code, stderr } = await plane.kubectl(
    ['apply', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  );
  if (code !== 0) throw new Error(`the role of the controller was not applied: ${stderr}`);
}
