import { sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import { pool } from '@sandlot/api-types/testing';
import { events, networkPolicies } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { TemplateWorld } from '../../test/template-harness.ts';

const CREATE = { verb: 'create', resource: 'networkpolicies' } as const;
/** All rules of the template's policy, in both directions. */
function rulesInForce(world: TemplateWorld): unknown[] {
  const { ingress = [], egress = [] } = world.policy()?.spec ?? {};
  return [...ingress, ...egress];
}

const APPLIED = ['Accepted=True/Accepted', 'NetworkPolicyReady=True/Applied'];
const OPEN = { ingress: [{}], egress: [{}] };

async function settled(spec: Parameters<TemplateWorld['createTemplate']>[0] = {}): Promise<TemplateWorld> {
  const world = await TemplateWorld.start();
  world.createTemplate(spec);
  world.startController();
  await world.eventually(() => expect(world.conditions()).toHaveLength(2));
  await world.elapse(1_500);
  world.api.clearRequests();
  return world;
}

describe('a template', () => {
  it('gets its policy, its label and its status by three writes, and none after', async () => {
    await using world = await TemplateWorld.start();
    world.createTemplate();
    world.startController();
    await world.eventually(() => expect(world.conditions()).toEqual(APPLIED));
    await world.elapse(5_000);
    expect(world.writes()).toEqual([
      'create networkpolicies',
      'patch sandboxtemplates',
      'patch sandboxtemplates/status',
    ]);
    const { metadata, status } = world.template();
    expect(metadata.labels).toEqual({ 'agents.x-k8s.io/sandbox-template-ref-hash': '694aaa0b' });
    expect(status).toMatchObject({
      observedGeneration: 1,
      templateRefHash: '694aaa0b',
      networkPolicyName: 'template-network-policy',
    });
    expect(status?.blueprintHash).toMatch(/^[0-9a-f]{8}$/);
  });

  it('is not written to by a controller that starts again', async () => {
    await using world = await settled();
    world.startController();
    await world.elapse(3_000);
    expect(world.writes()).toEqual([]);
  });

  it('has new rules applied', async () => {
    await using world = await settled();
    world.edit((spec) => (spec.networkPolicy = OPEN));
    await world.eventually(() => expect(world.policy()?.spec).toMatchObject(OPEN));
    await world.eventually(() => expect(world.template().status?.observedGeneration).toBe(2));
    world.edit((spec) => (spec.networkPolicy = { egress: [] }));
    await world.eventually(() => expect(world.policy()?.spec?.ingress ?? []).toEqual([]));
    await world.elapse(1_500);
    expect(world.policy()?.spec?.policyTypes).toEqual(['Ingress', 'Egress']);
  });

  it('has its policy again when somebody deletes or changes it', async () => {
    await using world = await settled();
    const { spec } = world.policy() ?? {};
    world.removePolicy();
    await world.eventually(() => expect(world.policy()?.spec).toEqual(spec));
    world.changePolicy((policy) => {
      policy.spec = { ...policy.spec, policyTypes: ['Ingress'], egress: [] };
    });
    await world.eventually(() => expect(world.policy()?.spec).toEqual(spec));
    world.changePolicy(({ metadata }) => {
      for (const owner of metadata.ownerReferences ?? []) owner.blockOwnerDeletion = false;
    });
    await world.eventually(() => expect(world.policy()?.metadata.ownerReferences?.[0]?.blockOwnerDeletion).toBe(true));
    expect(world.conditions()).toEqual(APPLIED);
  });

  it('leaves labels and further owners of its policy as they are', async () => {
    await using world = await settled();
    world.api.garbageCollector.pause();
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'uid-c' };
    world.changePolicy(({ metadata, spec }) => {
      metadata.labels = { team: 'a' };
      metadata.ownerReferences?.push(other);
      if (spec !== undefined) spec.egress = [];
    });
    await world.eventually(() => expect(world.policy()?.spec?.egress).toHaveLength(1));
    expect(world.policy()?.metadata.labels).toEqual({ team: 'a' });
    expect(world.policy()?.metadata.ownerReferences).toContainEqual(other);
  });

  it('loses its policy while Unmanaged, and gets it back', async () => {
    await using world = await settled();
    world.edit((spec) => (spec.networkPolicyManagement = 'Unmanaged'));
    await world.eventually(() => expect(world.conditions()).toContain('NetworkPolicyReady=True/Unmanaged'));
    expect(world.policy()).toBeUndefined();
    expect(world.template().status?.networkPolicyName).toBeUndefined();
    world.edit((spec) => (spec.networkPolicyManagement = 'Managed'));
    await world.eventually(() => expect(world.conditions()).toEqual(APPLIED));
    expect(world.policy()).toBeDefined();
  });

  it('takes its policy along, and nobody makes it again', async () => {
    await using world = await settled();
    world.api.remove(sandboxTemplates, { namespace: 'default', name: 'template' });
    await world.eventually(() => expect(world.policy()).toBeUndefined());
    await world.elapse(2_000);
    expect(world.policy()).toBeUndefined();
  });

  it('that comes again under its name has a policy of its own', async () => {
    await using world = await settled();
    world.api.remove(sandboxTemplates, { namespace: 'default', name: 'template' });
    world.createTemplate({}, 'uid-of-the-second');
    await world.eventually(() => expect(world.policy()?.metadata.ownerReferences?.[0]?.uid).toBe('uid-of-the-second'));
    await world.eventually(() => expect(world.conditions()).toEqual(APPLIED));
  });
});

describe('a policy of that name that is not its own', () => {
  const foreign = { metadata: { namespace: 'default', name: 'template-network-policy' }, spec: { podSelector: {} } };

  it.each(['Managed', 'Unmanaged'] as const)(
    'is left alone by a template that is %s',
    async (networkPolicyManagement) => {
      await using world = await TemplateWorld.start();
      const [before] = world.api.seed(networkPolicies, foreign);
      world.createTemplate({ networkPolicyManagement });
      world.startController();
      await world.eventually(() => expect(world.conditions()).toHaveLength(2));
      await world.elapse(2_000);
      expect(world.policy()).toEqual(before);
    },
  );

  it('is reported by an Event, once, until it is gone', async () => {
    await using world = await TemplateWorld.start();
    world.api.seed(networkPolicies, foreign);
    world.createTemplate();
    world.startController();
    await world.eventually(() => expect(world.conditions()).toContain('NetworkPolicyReady=False/NotControlled'));
    world.edit((spec) => (spec.service = true));
    await world.eventually(() => expect(world.template().status?.observedGeneration).toBe(2));
    await world.elapse(1_000);
    expect(world.api.objects(events).map(({ reason, type, regarding }) => [reason, type, regarding.name])).toEqual([
      ['NetworkPolicyNotControlled', 'Warning', 'template'],
    ]);
    expect(world.template().status?.networkPolicyName).toBeUndefined();
    world.removePolicy();
    await world.eventually(() => expect(world.conditions()).toEqual(APPLIED));
  });

  it('is judged by the server while the cache does not show it', async () => {
    await using world = await TemplateWorld.start();
    const controller = world.startController();
    await world.eventually(() => expect(controller.ready()).toBe(true));
    using stalled = world.api.faults.stallWatches({ resource: 'networkpolicies' });
    world.api.seed(networkPolicies, foreign);
    world.createTemplate();
    await world.eventually(() => expect(world.conditions()).toContain('NetworkPolicyReady=False/NotControlled'));
    stalled.end();
    world.removePolicy();
    await world.eventually(() => expect(world.conditions()).toEqual(APPLIED));
  });
});

describe('rules that the API server refuses', () => {
  const REFUSED = { status: 422, reason: 'Invalid', message: 'spec.egress[0].to[0].ipBlock.cidr: Invalid value' };

  it('leave a template that never had others without any traffic, and say why', async () => {
    await using world = await TemplateWorld.start();
    world.api.faults.failNext({ match: CREATE, answer: REFUSED });
    world.createTemplate({ networkPolicy: OPEN });
    world.startController();
    await world.eventually(() =>
      expect(world.conditions()).toEqual([
        'Accepted=False/InvalidNetworkPolicy',
        'NetworkPolicyReady=False/ReconcilerError',
      ]),
    );
    expect(world.template().status?.conditions?.[0]?.message).toContain(REFUSED.message);
    expect(world.policy()?.spec).toMatchObject({ policyTypes: ['Ingress', 'Egress'] });
    expect(rulesInForce(world)).toEqual([]);
    world.edit((spec) => (spec.networkPolicy = { egress: [{}] }));
    await world.eventually(() => expect(world.conditions()).toEqual(APPLIED));
    expect(world.policy()?.spec?.egress).toEqual([{}]);
  });

  it('leave those in force that were accepted before, and are sent once', async () => {
    await using world = await settled({ networkPolicy: { egress: [{}] } });
    const match = { verb: 'patch', resource: 'networkpolicies' } as const;
    world.api.faults.failNext({ match, answer: REFUSED, times: 100 });
    world.edit((spec) => (spec.networkPolicy = OPEN));
    await world.eventually(() => expect(world.conditions()).toContain('Accepted=False/InvalidNetworkPolicy'));
    await world.elapse(5_000);
    expect(world.policy()?.spec?.egress).toEqual([{}]);
    expect(world.writes().filter((write) => write === 'patch networkpolicies')).toHaveLength(1);
  });
});

describe('disks that no sandbox can have', () => {
  it('are reported, whatever the network', async () => {
    const disk = { metadata: { name: 'work' }, spec: { accessModes: ['ReadWriteOnce'] } };
    await using world = await settled({ volumeClaimTemplates: [disk, disk] });
    expect(world.conditions()).toEqual([
      'Accepted=False/InvalidVolumeClaimTemplates',
      'NetworkPolicyReady=True/Applied',
    ]);
    expect(world.template().status?.conditions?.[0]?.message).toContain('duplicate name "work"');
  });
});

describe('errors of the API server', () => {
  it.each([
    ['an error', { status: 500 }],
    ['a refusal', { status: 403, reason: 'Forbidden', message: 'exceeded quota' }],
  ] as const)('such as %s are in the status while they last', async (_, answer) => {
    await using world = await TemplateWorld.start();
    const fault = world.api.faults.failAfterWrites(0, { match: CREATE, answer });
    world.createTemplate();
    world.startController();
    await world.eventually(() => expect(world.conditions()).toContain('NetworkPolicyReady=False/ReconcilerError'));
    fault.end();
    await world.eventually(() => expect(world.conditions()).toEqual(APPLIED));
  });
});

describe('what was done about policies', () => {
  it('is counted by operation, from zero', async () => {
    await using world = await TemplateWorld.start();
    const { registry } = world.startController();
    world.createTemplate();
    await world.eventually(() => expect(world.conditions()).toEqual(APPLIED));
    world.edit((spec) => (spec.networkPolicy = {}));
    await world.eventually(() => expect(rulesInForce(world)).toEqual([]));
    await world.eventually(() => expect(world.template().status?.observedGeneration).toBe(2));
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
  it('are counted in its status, sorted, and at most fifty by name', async () => {
    await using world = await TemplateWorld.start();
    world.createTemplate();
    const names = Array.from({ length: 60 }, (_, index) => `pool-${String(index).padStart(2, '0')}`);
    for (const name of names.toReversed()) world.api.seed(sandboxWarmPools, pool({ name }));
    world.api.seed(sandboxWarmPools, pool({ name: 'other', spec: { sandboxTemplateRef: { name: 'another' } } }));
    world.startController();
    await world.eventually(() => expect(world.template().status?.warmPoolCount).toBe(60));
    expect(world.template().status?.warmPools).toEqual(names.slice(0, 50).map((name) => ({ name })));
  });

  it('cost one status a second, however often they change, and the last one is right', async () => {
    await using world = await settled();
    world.api.seed(sandboxWarmPools, pool({ name: 'pool' }));
    for (let replicas = 1; replicas <= 200; replicas += 1) {
      world.api.change(sandboxWarmPools, { namespace: 'default', name: 'pool' }, (changed) => {
        changed.status = { replicas, readyReplicas: replicas - 1 };
      });
      await world.elapse(20);
    }
    await world.eventually(() =>
      expect(world.template().status?.warmPools).toEqual([{ name: 'pool', replicas: 200, readyReplicas: 199 }]),
    );
    const statuses = world.writes().filter((write) => write === 'patch sandboxtemplates/status').length;
    expect(statuses).toBeGreaterThan(1);
    expect(statuses).toBeLessThan(12);
    world.api.remove(sandboxWarmPools, { namespace: 'default', name: 'pool' });
    await world.eventually(() => expect(world.template().status?.warmPoolCount).toBeUndefined());
    expect(world.template().status?.warmPools ?? []).toEqual([]);
  });
});
