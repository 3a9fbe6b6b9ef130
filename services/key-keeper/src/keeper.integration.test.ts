import { createKubeClient, loadCredentials, namespaces, secrets } from '@sandlot/kube';
import { startControlPlane } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { WANTED } from '../test/world.ts';

const PATIENCE = { timeout: 60_000, interval: 100 };
const namespace = 'sandlot-system';

const open = new AsyncDisposableStack();
let env: Record<string, string>;
beforeAll(async () => {
  const plane = await startControlPlane({});
  open.defer(() => plane.stop());
  env = { KUBECONFIG: plane.kubeconfigPath, POD_NAMESPACE: namespace, WANTED: JSON.stringify(WANTED) };
});
afterAll(() => open.disposeAsync());

it('the process is ready once the credentials exist, makes one again that is lost, and ends in order', async () => {
  const client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: env['KUBECONFIG'] }) });
  open.defer(() => client.close());
  await client.create(namespaces, { metadata: { name: namespace } });
  const keeper = open.use(await startServiceProcess(new URL('main.ts', import.meta.url), env));
  const isReady = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${keeper.probePort}/readyz`)).ok;
  await vi.waitFor(async () => expect(await isReady()).toBe(true), PATIENCE);
  const list = async (): Promise<readonly string[]> =>
    (await client.list(secrets, { namespace })).items.map(({ metadata: { name = '' } }) => name).toSorted();
  const all = ['x-bucket-keys', 'x-egress-ca', 'x-node-tls', 'x-redis-auth', 'x-runtime', 'x-saver-tls'];
  expect(await list()).toEqual(all);
  await client.delete(secrets, { namespace, name: 'x-redis-auth' });
  await vi.waitFor(async () => expect(await list()).toEqual(all), PATIENCE);
  expect(await keeper.stop()).toBe(0);
});
