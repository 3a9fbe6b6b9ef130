import { findCondition, sandboxClaims, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { namespaces, networkPolicies, pods } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Platform } from '../../test/platform.ts';

const NAMESPACE = 'guarded';
const TEMPLATE = { namespace: NAMESPACE, name: 'template' };
const POLICY = { namespace: NAMESPACE, name: 'template-network-policy' };

let platform: Platform;
beforeAll(async () => {
  platform = await Platform.start();
  const { client } = platform;
  await client.create(namespaces, { metadata: { name: NAMESPACE } });
  const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };
  await client.create(sandboxTemplates, { metadata: TEMPLATE, spec: { podTemplate } });
});
afterAll(() => platform[Symbol.asyncDispose]());

async function startColdClaim(name: string): Promise<void> {
  const spec = { sandboxTemplateRef: { name: 'template' }, warmpool: 'none' };
  await platform.client.create(sandboxClaims, { metadata: { namespace: NAMESPACE, name }, spec });
}

const getReady = ({ status }: SandboxClaim) => findCondition(status?.conditions, 'Ready');
const getClaim = (name: string): Promise<SandboxClaim> =>
  platform.client.get(sandboxClaims, { namespace: NAMESPACE, name });
const countPods = async (): Promise<number> =>
  (await platform.client.listAll(pods, { namespace: NAMESPACE })).items.length;

const untilPending = (name: string): Promise<void> =>
  platform.until(async () => getReady(await getClaim(name))?.reason === 'NetworkPolicyPending');
const untilReady = (name: string): Promise<void> =>
  platform.until(async () => getReady(await getClaim(name))?.status === 'True');

describe('while the warmpool-controller is down', () => {
  it('a cold claim has no Pod before the policy of its template exists, and is served after', async () => {
    await platform.startController('claim-controller');
    await platform.startController('sandbox-controller');
    await startColdClaim('first');
    await untilPending('first');
    expect(await countPods()).toBe(0);
    await platform.startController('warmpool-controller');
    await untilReady('first');
    const policy = await platform.client.get(networkPolicies, POLICY);
    expect(policy.spec?.policyTypes).toEqual(['Ingress', 'Egress']);
  });

  it('a cold claim waits for the policy of the template’s last change', async () => {
    await platform.stopController('warmpool-controller');
    await platform.client.mergePatch(sandboxTemplates, TEMPLATE, { spec: { networkPolicy: { egress: [] } } });
    const before = await countPods();
    await startColdClaim('second');
    await untilPending('second');
    expect(await countPods()).toBe(before);
    await platform.startController('warmpool-controller');
    await untilReady('second');
    expect((await platform.client.get(networkPolicies, POLICY)).spec?.egress ?? []).toEqual([]);
  });
});

it('a pool creates its members after the policy of its template', async () => {
  const namespace = 'pooled';
  await platform.client.create(namespaces, { metadata: { name: namespace } });
  // The pool waits for its template, so that both controllers of the process act at once.
  const poolSpec = { replicas: 2, sandboxTemplateRef: { name: 'template' } };
  await platform.client.create(sandboxWarmPools, { metadata: { namespace, name: 'pool' }, spec: poolSpec });
  const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };
  await platform.client.create(sandboxTemplates, { metadata: { namespace, name: 'template' }, spec: { podTemplate } });
  await platform.until(async () => (await platform.sandboxes(namespace)).length === 2);
  const writes = await platform.readWrites('warmpool-controller', namespace);
  const creates = writes.filter((write) => write.startsWith('create'));
  expect(creates.slice(0, 3)).toEqual(['create networkpolicies', 'create sandboxes', 'create sandboxes']);
  expect(writes.indexOf('patch sandboxtemplates/status')).toBeLessThan(writes.indexOf('create sandboxes'));
});
