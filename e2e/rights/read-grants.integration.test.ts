import { createKubeClient, isForbidden, loadCredentials, pods, secrets } from '@sandlot/kube';
import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { listUnusedRights, readRights } from './read-grants.ts';
import type { RunKubectl } from './read-grants.ts';
import { formatRight } from './rights.ts';

const NAMESPACE = 'default';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({ audit: true });
});
afterAll(() => plane.stop());

const kubectl: RunKubectl = async (args) => {
  const { code, stdout, stderr } = await plane.kubectl([...args]);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
};

it('finds the rights of an account on a real API server, and in its audit log those that were used', async () => {
  await kubectl(['create', 'serviceaccount', 'one']);
  await kubectl(['create', 'clusterrole', 'reader', '--verb=get,list', '--resource=pods']);
  await kubectl([
    'create',
    'clusterrolebinding',
    'reader',
    '--clusterrole=reader',
    `--serviceaccount=${NAMESPACE}:one`,
  ]);
  await kubectl(['create', 'role', 'keeper', '--verb=delete', '--resource=configmaps', '--resource-name=mine']);
  await kubectl(['create', 'rolebinding', 'keeper', '--role=keeper', `--serviceaccount=${NAMESPACE}:one`]);
  const rights = await readRights(kubectl, NAMESPACE);
  const format = (of: typeof rights): string[] =>
    of.map((right) => formatRight(right).replace(/^system:serviceaccount:default:/, '')).sort();
  expect(format(rights)).toEqual([
    'one: delete configmaps mine in default',
    'one: get pods everywhere',
    'one: list pods everywhere',
  ]);

  const token = await kubectl(['create', 'token', 'one']);
  const { server, ca } = await loadCredentials({ kubeconfig: plane.kubeconfigPath });
  const client = createKubeClient({ credentials: { server, ca, getAuthorization: async () => `Bearer ${token}` } });
  try {
    await vi.waitFor(() => client.list(pods, { namespace: 'kube-system' }), { timeout: 20_000, interval: 50 });
    await expect(client.list(secrets, { namespace: NAMESPACE })).rejects.toSatisfy(isForbidden);
  } finally {
    await client.close();
  }
  await vi.waitFor(
    async () => {
      expect(format(await listUnusedRights(rights, plane.auditLogPath ?? ''))).toEqual([
        'one: delete configmaps mine in default',
        'one: get pods everywhere',
      ]);
    },
    { timeout: 20_000, interval: 100 },
  );
});
