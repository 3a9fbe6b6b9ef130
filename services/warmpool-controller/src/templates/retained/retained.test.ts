import { networkPolicies } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { TemplateHarness } from '../../../test/template-harness.ts';

const CLOSED = { egress: [], ingress: [] };
const SETTLED_MS = 35_000;
const APPLIED = 'NetworkPolicyReady=True/Applied';

async function startReconciled(): Promise<TemplateHarness> {
  const harness = await TemplateHarness.start();
  harness.createTemplate({ networkPolicy: { egress: [{ ports: [{ port: 443 }] }] } });
  harness.createDelivered('box');
  harness.startController();
  await harness.eventually(() => expect(harness.conditions()).toContain(APPLIED));
  return harness;
}

const getRules = (harness: TemplateHarness): unknown => harness.policy()?.spec?.egress;

describe('the policy of a deleted template', () => {
  it('stays while a Sandbox of it exists, suspended or not, and goes with the last', async () => {
    await using harness = await startReconciled();
    harness.createDelivered('asleep', { operatingMode: 'Suspended' });
    const before = harness.policy();
    harness.removeTemplate();
    await harness.elapse(SETTLED_MS);
    expect(harness.policy()).toEqual(before);
    harness.removeSandbox('box');
    await harness.elapse(SETTLED_MS);
    expect(harness.policy()).toEqual(before);
    harness.removeSandbox('asleep');
    await harness.elapse(SETTLED_MS);
    expect(harness.policy()).toBeUndefined();
  });

  it('goes although it never had a Sandbox', async () => {
    await using harness = await startReconciled();
    harness.removeSandbox('box');
    harness.removeTemplate();
    await harness.elapse(SETTLED_MS);
    expect(harness.policy()).toBeUndefined();
    harness.api.clearRequests();
    await harness.elapse(SETTLED_MS);
    expect(harness.writes()).toEqual([]);
  });

  it('stays while a Pod outlives its Sandbox', async () => {
    await using harness = await startReconciled();
    harness.createPod('box');
    harness.removeTemplate();
    harness.removeSandbox('box');
    await harness.elapse(2 * SETTLED_MS);
    expect(harness.policy()).toBeDefined();
    harness.removePod('box');
    await harness.elapse(SETTLED_MS);
    expect(harness.policy()).toBeUndefined();
  });

  it('stays when no controller runs at that moment, and goes when the next one finds no Sandbox', async () => {
    await using harness = await TemplateHarness.start();
    harness.createTemplate();
    harness.createDelivered('box');
    const controller = harness.startController();
    await harness.eventually(() => expect(harness.conditions()).toContain(APPLIED));
    await harness.kill(controller);
    harness.removeTemplate();
    await harness.elapse(SETTLED_MS);
    expect(harness.policy()).toBeDefined();
    harness.removeSandbox('box');
    harness.startController();
    await harness.elapse(SETTLED_MS);
    expect(harness.policy()).toBeUndefined();
  });

  it('is restored when another client deletes it', async () => {
    await using harness = await startReconciled();
    harness.removeTemplate();
    await harness.elapse(1_000);
    const { metadata, spec } = harness.policy() ?? {};
    expect(spec).toBeDefined();
    harness.removePolicy();
    await harness.eventually(() => expect(harness.policy()?.spec).toEqual(spec));
    expect(harness.policy()?.metadata.annotations).toEqual(metadata?.annotations);
    harness.removeSandbox('box');
    await harness.elapse(SETTLED_MS);
    expect(harness.policy()).toBeUndefined();
  });

  it('is restored after garbage collection when an earlier release made it', async () => {
    await using harness = await startReconciled();
    harness.api.garbageCollector.pause();
    const { uid = '' } = harness.template().metadata;
    const owner = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxTemplate', name: 'template', uid };
    using stalled = harness.api.faults.stallWatches({ resource: 'networkpolicies' });
    harness.changePolicy(({ metadata }) => {
      delete metadata.labels;
      metadata.ownerReferences = [{ ...owner, controller: true }];
    });
    const rules = getRules(harness);
    harness.removeTemplate();
    await harness.elapse(100);
    harness.removePolicy();
    stalled.end();
    await harness.eventually(() => expect(getRules(harness)).toEqual(rules));
    expect(harness.policy()?.metadata.ownerReferences ?? []).toEqual([]);
  });

  it('goes again when its namespace is deleted and refuses it', async () => {
    await using harness = await startReconciled();
    harness.removeTemplate();
    await harness.elapse(1_500);
    const match = { verb: 'create', resource: 'networkpolicies' } as const;
    const answer = { status: 403, reason: 'Forbidden', message: 'the namespace is being terminated' };
    harness.api.faults.failNext({ match, answer, times: 100 });
    harness.api.clearRequests();
    harness.removePolicy();
    await harness.elapse(1_000);
    harness.removeSandbox('box');
    await harness.elapse(3 * SETTLED_MS);
    expect(harness.writes()).toEqual(['create networkpolicies']);
  });

  it('follows a template that is created again under its name, also for the Sandboxes from before', async () => {
    await using harness = await startReconciled();
    harness.recreateTemplate({ networkPolicy: CLOSED });
    await harness.eventually(() => expect(harness.conditions()).toContain(APPLIED));
    expect(getRules(harness) ?? []).toEqual([]);
    expect(harness.policy()?.metadata.annotations).toEqual({
      'sandlot.dev/template-uid': harness.template().metadata.uid,
    });
    expect(harness.api.objects(networkPolicies)).toHaveLength(1);
  });

  it('goes when a template of its name is Unmanaged', async () => {
    await using harness = await startReconciled();
    harness.recreateTemplate({ networkPolicyManagement: 'Unmanaged' });
    await harness.eventually(() => expect(harness.policy()).toBeUndefined());
    harness.removeTemplate();
    await harness.elapse(SETTLED_MS);
    expect(harness.policy()).toBeUndefined();
  });
});

describe('a policy from an earlier release', () => {
  it('loses its template as an owner when the controller starts', async () => {
    await using harness = await TemplateHarness.start();
    harness.createTemplate();
    const { uid = '' } = harness.template().metadata;
    const owner = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxTemplate', name: 'template', uid };
    const ownerReferences = [{ ...owner, controller: true, blockOwnerDeletion: true }];
    const metadata = { namespace: 'default', name: 'template-network-policy', ownerReferences };
    harness.api.seed(networkPolicies, { metadata, spec: { podSelector: {} } });
    harness.startController();
    await harness.eventually(() => expect(harness.conditions()).toContain(APPLIED));
    expect(harness.policy()?.metadata.ownerReferences ?? []).toEqual([]);
    harness.createDelivered('box');
    harness.removeTemplate();
    await harness.elapse(SETTLED_MS);
    expect(harness.policy()).toBeDefined();
  });
});
