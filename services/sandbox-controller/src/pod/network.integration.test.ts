import { findCondition, sandboxes, sandboxTemplates } from '@sandlot/api-types';
import { template } from '@sandlot/api-types/testing';
import { networkPolicies, pods } from '@sandlot/kube';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NAMESPACE, RealCluster } from '../../test/real-cluster.ts';

const POLICY = 'base-network-policy';
const at = (name: string) => ({ namespace: NAMESPACE, name });

let cluster: RealCluster;
beforeAll(async () => {
  cluster = await RealCluster.start({}, { NETWORK_PROTECT_AUTHORED_SANDBOXES: 'true' });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const createPolicy = (name: string, protects: string) =>
  cluster.client.create(networkPolicies, {
    metadata: { ...at(name), labels: { 'sandlot.dev/protects': protects } },
    spec: { podSelector: {} },
  });

const untilWaiting = (name: string) =>
  expect
    .poll(async () => findCondition((await cluster.sandbox(name)).status?.conditions, 'Ready')?.reason, {
      timeout: 30_000,
    })
    .toBe('NetworkPolicyPending');

const hasPod = async (name: string): Promise<boolean> => (await cluster.find(pods, name)) !== undefined;
const untilPod = (name: string) => expect.poll(() => hasPod(name), { timeout: 60_000 }).toBe(true);
const untilNoPod = (name: string) => expect.poll(() => hasPod(name), { timeout: 60_000 }).toBe(false);

it('a Sandbox of a template has no Pod without its policy, from the start and when it is resumed', async () => {
  const { apiVersion, kind, spec } = template();
  await cluster.client.create(sandboxTemplates, { apiVersion, kind, metadata: at('base'), spec });
  const labels = { 'agents.x-k8s.io/sandbox-template-ref-hash': 'x', 'sandlot.dev/claim-name': 'job' };
  const annotations = { 'agents.x-k8s.io/sandbox-template-ref': 'base', 'sandlot.dev/network-policy': POLICY };
  await cluster.client.create(sandboxes, { metadata: { ...at('box'), labels, annotations }, spec });
  await untilWaiting('box');
  expect(await hasPod('box')).toBe(false);
  await createPolicy(POLICY, 'template');
  await untilPod('box');

  await cluster.edit('box', { operatingMode: 'Suspended' });
  await untilNoPod('box');
  await cluster.client.delete(networkPolicies, at(POLICY));
  await cluster.edit('box', { operatingMode: 'Running' });
  await untilWaiting('box');
  expect(await hasPod('box')).toBe(false);
  await createPolicy(POLICY, 'template');
  await untilPod('box');
});

it('a Sandbox without a template has no Pod before the policy of its namespace', async () => {
  await cluster.create('notebook');
  await untilWaiting('notebook');
  expect(await hasPod('notebook')).toBe(false);
  await createPolicy('sandlot-authored-sandboxes', 'authored-sandboxes');
  await untilPod('notebook');
});
