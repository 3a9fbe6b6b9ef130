// The templates of forks go as soon as the forks are up: their claims must not notice.
import { findCondition, sandboxClaims, sandboxes, sandboxSnapshots, sandboxTemplates } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { namespaces, networkPolicies, pods } from '@sandlot/kube';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Platform } from '../../test/platform.ts';

const NAMESPACE = 'forks';
const TEMPLATE = { namespace: NAMESPACE, name: 'of-snapshot' };
const CLAIM = { namespace: NAMESPACE, name: 'fork' };
const POLICY = { namespace: NAMESPACE, name: 'of-snapshot-network-policy' };

let platform: Platform;
beforeAll(async () => {
  platform = await Platform.start();
  const { client } = platform;
  await client.create(namespaces, { metadata: { name: NAMESPACE } });
  const snapshot = await client.create(sandboxSnapshots, { metadata: TEMPLATE, spec: { sandboxName: 'source' } });
  const { uid = '' } = snapshot.metadata;
  const owner = {
    apiVersion: 'sandlot.dev/v1alpha1',
    kind: 'SandboxSnapshot',
    name: TEMPLATE.name,
    uid,
    controller: true,
  };
  const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };
  await client.create(sandboxTemplates, { metadata: { ...TEMPLATE, ownerReferences: [owner] }, spec: { podTemplate } });
  await platform.startControllers({});
  await client.create(sandboxClaims, { metadata: CLAIM, spec: { sandboxTemplateRef: { name: TEMPLATE.name } } });
  await untilReady('True');
  // Its template goes with it.
  await client.delete(sandboxSnapshots, TEMPLATE);
  await platform.until(async () => (await client.find(sandboxTemplates, TEMPLATE)) === undefined);
});
afterAll(() => platform[Symbol.asyncDispose]());

const getClaim = (): Promise<SandboxClaim> => platform.client.get(sandboxClaims, CLAIM);
const getSandbox = async (): Promise<Sandbox> => {
  const { status } = await getClaim();
  return platform.client.get(sandboxes, { namespace: NAMESPACE, name: status?.sandbox?.name ?? '' });
};
const untilReady = (wanted: 'True' | 'False'): Promise<void> =>
  platform.until(async () => {
    const { status, metadata } = await getClaim();
    const ready = findCondition(status?.conditions, 'Ready');
    return ready?.status === wanted && ready.observedGeneration === metadata.generation;
  });
const listPodUids = async (): Promise<readonly (string | undefined)[]> =>
  (await platform.client.listAll(pods, { namespace: NAMESPACE })).items.map(({ metadata }) => metadata.uid);

it('a claim whose template is gone keeps its Sandbox and stays Ready, also for controllers that start anew', async () => {
  const [before, running] = [await getSandbox(), await listPodUids()];
  expect(running).toHaveLength(1);
  await platform.startControllers({});
  // A change of the claim makes a pass certain.
  const lifecycle = { shutdownTime: '2099-01-01T00:00:00Z', shutdownPolicy: 'Delete' };
  await platform.client.mergePatch(sandboxClaims, CLAIM, { spec: { lifecycle } });
  await untilReady('True');
  const after = await getSandbox();
  expect([after.metadata.uid, await listPodUids()]).toEqual([before.metadata.uid, running]);
  expect(await platform.client.find(networkPolicies, POLICY)).toBeDefined();
});

it('it pauses and resumes under the network rules that its template had', async () => {
  const { metadata } = await getSandbox();
  const key = { namespace: NAMESPACE, name: metadata.name ?? '' };
  await platform.client.mergePatch(sandboxes, key, { spec: { operatingMode: 'Suspended' } });
  await untilReady('False');
  await platform.until(async () => (await listPodUids()).length === 0);
  await platform.client.mergePatch(sandboxes, key, { spec: { operatingMode: 'Running' } });
  await untilReady('True');
  expect((await getSandbox()).metadata.uid).toBe(metadata.uid);
  expect(await platform.client.find(networkPolicies, POLICY)).toBeDefined();
});

it('it ends at its time, and the last one takes the rules of the template with it', async () => {
  const lifecycle = { shutdownTime: '2026-01-01T00:00:00Z', shutdownPolicy: 'Delete' };
  await platform.client.mergePatch(sandboxClaims, CLAIM, { spec: { lifecycle } });
  await platform.until(async () => (await platform.claims(NAMESPACE)).length === 0);
  await platform.until(async () => (await platform.sandboxes(NAMESPACE)).length === 0);
  await platform.until(async () => (await platform.client.find(networkPolicies, POLICY)) === undefined);
});
