import { findNetworkGap, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { pool } from '@sandlot/api-types/testing';
import { events, networkPolicies } from '@sandlot/kube';
import { switchOffPacing } from '@sandlot/pacing';
import { describe, expect, it } from 'vitest';
import { TemplateHarness } from '../../test/template-harness.ts';

const CREATE = { verb: 'create', resource: 'networkpolicies' } as const;
/** All rules of the template's policy, in both directions. */
function rulesInForce(harness: TemplateHarness): unknown[] {
  const { ingress = [], egress = [] } = harness.policy()?.spec ?? {};
  return [...ingress, ...egress];
}

const APPLIED = ['Accepted=True/Accepted', 'NetworkPolicyReady=True/Applied'];
const OPEN = { ingress: [{}], egress: [{}] };

async function startReconciled(spec: Parameters<TemplateHarness['createTemplate']>[0] = {}): Promise<TemplateHarness> {
  const harness = await TemplateHarness.start();
  harness.createTemplate(spec);
  harness.startController();
  await harness.eventually(() => expect(harness.conditions()).toHaveLength(2));
  await harness.elapse(1_500);
  harness.api.clearRequests();
  return harness;
}

describe('a template', () => {
  it('gets its policy, label and status with three writes, and no further ones', async () => {
    await using harness = await TemplateHarness.start();
    harness.createTemplate();
    harness.startController();
    await harness.eventually(() => expect(harness.conditions()).toEqual(APPLIED));
    await harness.elapse(5_000);
    expect(harness.writes()).toEqual([
      'create networkpolicies',
      'patch sandboxtemplates/status',
      'patch sandboxtemplates',
    ]);
    const { metadata, status } = harness.template();
    expect(metadata.labels).toEqual({ 'agents.x-k8s.io/sandbox-template-ref-hash': '694aaa0b' });
    expect(status).toMatchObject({
      observedGeneration: 1,
      templateRefHash: '694aaa0b',
      networkPolicyName: 'template-network-policy',
    });
    expect(status?.blueprintHash).toMatch(/^[0-9a-f]{8}$/);
  });

  it('says that its policy is in place for no later generation than the policy was built from', async () => {
    await using harness = await TemplateHarness.start();
    harness.createTemplate({ networkPolicy: OPEN });
    const early: unknown[] = [];
    harness.api.onChange(sandboxTemplates, () => {
      const gap = findNetworkGap(harness.template(), harness.policy());
      const isOld = harness.template().metadata.generation === 2 && rulesInForce(harness).length > 0;
      if (gap === undefined && isOld) early.push(harness.template().status?.conditions);
    });
    const stop = harness.api.onChange(networkPolicies, () => {
      stop();
      harness.edit((spec) => (spec.networkPolicy = {}));
    });
    harness.startController();
    await harness.eventually(() => expect(harness.template().status?.observedGeneration).toBe(2));
    await harness.eventually(() => expect(rulesInForce(harness)).toEqual([]));
    await harness.elapse(1_500);
    expect(early).toEqual([]);
  });

  it('is not written again after a restart of the controller', async () => {
    await using harness = await startReconciled();
    harness.startController();
    await harness.elapse(3_000);
    expect(harness.writes()).toEqual([]);
  });

  it('changes the rules of its policy', async () => {
    await using harness = await startReconciled();
    harness.edit((spec) => (spec.networkPolicy = OPEN));
    await harness.eventually(() => expect(harness.policy()?.spec).toMatchObject(OPEN));
    await harness.eventually(() => expect(harness.template().status?.observedGeneration).toBe(2));
    harness.edit((spec) => (spec.networkPolicy = { egress: [] }));
    await harness.eventually(() => expect(harness.policy()?.spec?.ingress ?? []).toEqual([]));
    await harness.elapse(1_500);
    expect(harness.policy()?.spec?.policyTypes).toEqual(['Ingress', 'Egress']);
  });

  it('restores its policy after another client deletes or changes it', async () => {
    await using harness = await startReconciled();
    const { spec } = harness.policy() ?? {};
    harness.removePolicy();
    await harness.eventually(() => expect(harness.policy()?.spec).toEqual(spec));
    harness.changePolicy((policy) => {
      policy.spec = { ...policy.spec, policyTypes: ['Ingress'], egress: [] };
    });
    await harness.eventually(() => expect(harness.policy()?.spec).toEqual(spec));
    expect(harness.conditions()).toEqual(APPLIED);
  });

  it('keeps labels and other owners of its policy', async () => {
    await using harness = await startReconciled();
    harness.api.garbageCollector.pause();
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'uid-c' };
    harness.changePolicy(({ metadata, spec }) => {
      metadata.labels = { ...metadata.labels, team: 'a' };
      metadata.ownerReferences = [other];
      if (spec !== undefined) spec.egress = [];
    });
    await harness.eventually(() => expect(harness.policy()?.spec?.egress).toHaveLength(1));
    expect(harness.policy()?.metadata.labels).toMatchObject({ team: 'a' });
    expect(harness.policy()?.metadata.ownerReferences).toContainEqual(other);
  });

  it('loses its policy while Unmanaged, and gets it back when Managed', async () => {
    await using harness = await startReconciled();
    harness.edit((spec) => (spec.networkPolicyManagement = 'Unmanaged'));
    await harness.eventually(() => expect(harness.conditions()).toContain('NetworkPolicyReady=True/Unmanaged'));
    expect(harness.policy()).toBeUndefined();
    expect(harness.template().status?.networkPolicyName).toBeUndefined();
    harness.edit((spec) => (spec.networkPolicyManagement = 'Managed'));
    await harness.eventually(() => expect(harness.conditions()).toEqual(APPLIED));
    expect(harness.policy()).toBeDefined();
  });
});

describe('a policy with the right name and another owner', () => {
  const foreign = { metadata: { namespace: 'default', name: 'template-network-policy' }, spec: { podSelector: {} } };

  it.each(['Managed', 'Unmanaged'] as const)(
    'is left alone by a template that is %s',
    async (networkPolicyManagement) => {
      await using harness = await TemplateHarness.start();
      const [before] = harness.api.seed(networkPolicies, foreign);
      harness.createTemplate({ networkPolicyManagement });
      harness.startController();
      await harness.eventually(() => expect(harness.conditions()).toHaveLength(2));
      await harness.elapse(2_000);
      expect(harness.policy()).toEqual(before);
    },
  );

  it('is reported by one Event until it is gone', async () => {
    await using harness = await TemplateHarness.start();
    harness.api.seed(networkPolicies, foreign);
    harness.createTemplate();
    harness.startController();
    await harness.eventually(() => expect(harness.conditions()).toContain('NetworkPolicyReady=False/NotControlled'));
    harness.edit((spec) => (spec.service = true));
    await harness.eventually(() => expect(harness.template().status?.observedGeneration).toBe(2));
    await harness.elapse(1_000);
    expect(harness.api.objects(events).map(({ reason, type, regarding }) => [reason, type, regarding.name])).toEqual([
      ['NetworkPolicyNotControlled', 'Warning', 'template'],
    ]);
    expect(harness.template().status?.networkPolicyName).toBeUndefined();
    harness.removePolicy();
    await harness.eventually(() => expect(harness.conditions()).toEqual(APPLIED));
  });

  it('is read from the API server while the cache does not show it', async () => {
    await using harness = await TemplateHarness.start();
    const controller = harness.startController();
    await harness.eventually(() => expect(controller.isReady()).toBe(true));
    using stalled = harness.api.faults.stallWatches({ resource: 'networkpolicies' });
    harness.api.seed(networkPolicies, foreign);
    harness.createTemplate();
    await harness.eventually(() => expect(harness.conditions()).toContain('NetworkPolicyReady=False/NotControlled'));
    stalled.end();
    harness.removePolicy();
    await harness.eventually(() => expect(harness.conditions()).toEqual(APPLIED));
  });
});

describe('rules that the API server refuses', () => {
  const REFUSED = { status: 422, reason: 'Invalid', message: 'spec.egress[0].to[0].ipBlock.cidr: Invalid value' };

  it('let nothing pass for a template without earlier rules, and are reported', async () => {
    await using harness = await TemplateHarness.start();
    harness.api.faults.failNext({ match: CREATE, answer: REFUSED });
    harness.createTemplate({ networkPolicy: OPEN });
    harness.startController();
    await harness.eventually(() =>
      expect(harness.conditions()).toEqual([
        'Accepted=False/InvalidNetworkPolicy',
        'NetworkPolicyReady=False/ReconcilerError',
      ]),
    );
    expect(harness.template().status?.conditions?.[0]?.message).toContain(REFUSED.message);
    expect(harness.policy()?.spec).toMatchObject({ policyTypes: ['Ingress', 'Egress'] });
    expect(rulesInForce(harness)).toEqual([]);
    harness.edit((spec) => (spec.networkPolicy = { egress: [{}] }));
    await harness.eventually(() => expect(harness.conditions()).toEqual(APPLIED));
    expect(harness.policy()?.spec?.egress).toEqual([{}]);
  });

  it('leave the rules accepted before in force, and are sent once', async () => {
    await using harness = await startReconciled({ networkPolicy: { egress: [{}] } });
    const match = { verb: 'patch', resource: 'networkpolicies' } as const;
    harness.api.faults.failNext({ match, answer: REFUSED, times: 100 });
    harness.edit((spec) => (spec.networkPolicy = OPEN));
    await harness.eventually(() => expect(harness.conditions()).toContain('Accepted=False/InvalidNetworkPolicy'));
    await harness.elapse(5_000);
    expect(harness.policy()?.spec?.egress).toEqual([{}]);
    expect(harness.writes().filter((write) => write === 'patch networkpolicies')).toHaveLength(1);
  });
});

describe('invalid volumeClaimTemplates', () => {
  it('are reported independently of the policy', async () => {
    const disk = { metadata: { name: 'work' }, spec: { accessModes: ['ReadWriteOnce'] } };
    await using harness = await startReconciled({ volumeClaimTemplates: [disk, disk] });
    expect(harness.conditions()).toEqual([
      'Accepted=False/InvalidVolumeClaimTemplates',
      'NetworkPolicyReady=True/Applied',
    ]);
    expect(harness.template().status?.conditions?.[0]?.message).toContain('duplicate name "work"');
  });
});

describe('errors of the API server', () => {
  it.each([
    ['status 500', { status: 500 }],
    ['Forbidden', { status: 403, reason: 'Forbidden', message: 'exceeded quota' }],
  ] as const)('such as %s are in the status until they end', async (_, answer) => {
    await using harness = await TemplateHarness.start();
    const fault = harness.api.faults.failAfterWrites(0, { match: CREATE, answer });
    harness.createTemplate();
    harness.startController();
    await harness.eventually(() => expect(harness.conditions()).toContain('NetworkPolicyReady=False/ReconcilerError'));
    fault.end();
    await harness.eventually(() => expect(harness.conditions()).toEqual(APPLIED));
  });
});

describe('the metric of policy writes', () => {
  it('counts by operation, from zero', async () => {
    await using harness = await TemplateHarness.start();
    const { registry } = harness.startController();
    harness.createTemplate();
    await harness.eventually(() => expect(harness.conditions()).toEqual(APPLIED));
    harness.edit((spec) => (spec.networkPolicy = {}));
    await harness.eventually(() => expect(rulesInForce(harness)).toEqual([]));
    await harness.eventually(() => expect(harness.template().status?.observedGeneration).toBe(2));
    const { values = [] } = (await registry.getSingleMetric('sandlot_network_policy_operations_total')?.get()) ?? {};
    expect(Object.fromEntries(values.map(({ labels, value }) => [labels['operation'], value]))).toEqual({
      create: 1,
      update: 1,
      delete: 0,
      refused: 0,
      not_controlled: 0,
    });
  });
});

describe('the pools of a template', () => {
  it('are listed in its status, sorted by name, at most fifty', async () => {
    await using harness = await TemplateHarness.start();
    harness.createTemplate();
    const names = Array.from({ length: 60 }, (_, index) => `pool-${String(index).padStart(2, '0')}`);
    for (const name of names.toReversed()) harness.api.seed(sandboxWarmPools, pool({ name }));
    harness.api.seed(sandboxWarmPools, pool({ name: 'other', spec: { sandboxTemplateRef: { name: 'another' } } }));
    harness.startController();
    await harness.eventually(() => expect(harness.template().status?.warmPoolCount).toBe(60));
    expect(harness.template().status?.warmPools).toEqual(names.slice(0, 50).map((name) => ({ name })));
  });

  it('are shown although the status write meets a conflict', async () => {
    await using harness = await startReconciled();
    const match = { verb: 'patch', resource: 'sandboxtemplates', subresource: 'status' } as const;
    harness.api.faults.failNext({ match, answer: { status: 409 } });
    harness.api.seed(sandboxWarmPools, pool({ name: 'pool' }));
    await harness.eventually(() => expect(harness.template().status?.warmPoolCount).toBe(1));
  });

  it.each([
    ['at most one status write a second', '', 12],
    ['without pacing.templateStatus a status write each', 'templateStatus', 203],
  ])('cause %s, and the last one is right', async (_, off, fewerThan) => {
    using _off = switchOffPacing(off);
    await using harness = await startReconciled();
    harness.api.seed(sandboxWarmPools, pool({ name: 'pool' }));
    for (let replicas = 1; replicas <= 200; replicas += 1) {
      harness.api.change(sandboxWarmPools, { namespace: 'default', name: 'pool' }, (changed) => {
        changed.status = { replicas, readyReplicas: replicas - 1 };
      });
      await harness.elapse(20);
    }
    await harness.eventually(() =>
      expect(harness.template().status?.warmPools).toEqual([{ name: 'pool', replicas: 200, readyReplicas: 199 }]),
    );
    const statuses = harness.writes().filter((write) => write === 'patch sandboxtemplates/status').length;
    expect(statuses).toBeGreaterThan(fewerThan / 12);
    expect(statuses).toBeLessThan(fewerThan);
    harness.api.remove(sandboxWarmPools, { namespace: 'default', name: 'pool' });
    await harness.eventually(() => expect(harness.template().status?.warmPoolCount).toBeUndefined());
    expect(harness.template().status?.warmPools ?? []).toEqual([]);
  });
});
