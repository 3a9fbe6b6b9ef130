import { sandbox } from '@sandlot/api-types/testing';
import { networkPolicies } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { isAuthored } from './authored-sandboxes.ts';
import { defaultRules } from '../network/rules.ts';
import { NETWORK, TemplateWorld } from '../../../test/template-harness.ts';

const PROTECTED = { protectAuthoredSandboxes: true };

describe('the policy of a namespace for directly authored Sandboxes', () => {
  it('comes with the first and goes with the last of them, and selects no pod of a template', async () => {
    await using world = await TemplateWorld.start();
    world.startController(PROTECTED);
    world.author('first');
    await world.eventually(() => expect(world.authoredPolicy()).toBeDefined());
    const { metadata, spec } = world.authoredPolicy() ?? {};
    expect(metadata?.ownerReferences).toEqual([
      { apiVersion: 'agents.x-k8s.io/v1beta1', kind: 'Sandbox', name: 'first', uid: 'uid-first' },
    ]);
    expect(spec).toEqual({
      podSelector: {
        matchExpressions: [
          { key: 'agents.x-k8s.io/sandbox-name-hash', operator: 'Exists' },
          { key: 'agents.x-k8s.io/sandbox-template-ref-hash', operator: 'DoesNotExist' },
        ],
      },
      policyTypes: ['Ingress', 'Egress'],
      ...defaultRules(NETWORK),
    });
    world.author('second');
    await world.eventually(() => expect(world.authoredPolicy()?.metadata.ownerReferences).toHaveLength(2));
    world.removeSandbox('first');
    await world.eventually(() =>
      expect(world.authoredPolicy()?.metadata.ownerReferences?.map(({ name }) => name)).toEqual(['second']),
    );
    world.removeSandbox('second');
    await world.eventually(() => expect(world.authoredPolicy()).toBeUndefined());
  });

  it('is not made for Sandboxes that claims and pools made', async () => {
    await using world = await TemplateWorld.start();
    world.createClaimed('claimed');
    world.startController(PROTECTED);
    await world.elapse(1_000);
    expect(world.authoredPolicy()).toBeUndefined();
  });

  it('has a few owners of many, and costs a write only when one of those goes', async () => {
    await using world = await TemplateWorld.start();
    for (let index = 0; index < 40; index += 1) world.author(`box-${index}`);
    world.startController(PROTECTED);
    await world.eventually(() => expect(world.authoredPolicy()?.metadata.ownerReferences).toHaveLength(5));
    world.api.clearRequests();
    const owners = new Set(world.authoredPolicy()?.metadata.ownerReferences?.map(({ name }) => name));
    const others = Array.from({ length: 40 }, (_, index) => `box-${index}`).filter((name) => !owners.has(name));
    for (const name of others.slice(0, 20)) world.removeSandbox(name);
    await world.elapse(500);
    expect(world.writes()).toEqual([]);
    const [leaving = ''] = owners;
    world.removeSandbox(leaving);
    await world.eventually(() => {
      const names = world.authoredPolicy()?.metadata.ownerReferences?.map(({ name }) => name);
      expect(names).toHaveLength(5);
      expect(names).not.toContain(leaving);
    });
  });

  it('is repaired when somebody changes or deletes it', async () => {
    await using world = await TemplateWorld.start();
    world.author('box');
    world.startController(PROTECTED);
    await world.eventually(() => expect(world.authoredPolicy()).toBeDefined());
    const name = world.authoredPolicy()?.metadata.name ?? '';
    const { spec } = world.authoredPolicy() ?? {};
    world.removePolicy(name);
    await world.eventually(() => expect(world.authoredPolicy()?.spec).toEqual(spec));
    world.changePolicy((policy) => (policy.spec = { podSelector: { matchLabels: { app: '' } } }), name);
    await world.eventually(() => expect(world.authoredPolicy()?.spec).toMatchObject({ egress: spec?.egress }));
    expect(world.authoredPolicy()?.spec?.podSelector?.matchLabels ?? {}).toEqual({});
  });

  it('goes when the installation no longer asks for it, and is left alone when it is not ours', async () => {
    await using world = await TemplateWorld.start();
    world.author('box');
    const first = world.startController(PROTECTED);
    await world.eventually(() => expect(world.authoredPolicy()).toBeDefined());
    await world.kill(first);
    const metadata = { namespace: 'elsewhere', name: world.authoredPolicy()?.metadata.name ?? '' };
    const [foreign] = world.api.seed(networkPolicies, { metadata, spec: { podSelector: {} } });
    world.startController();
    await world.eventually(() => expect(world.authoredPolicy()).toBeUndefined());
    expect(world.api.object(networkPolicies, metadata)).toEqual(foreign);
  });
});

describe('a Sandbox counts as directly authored', () => {
  const label = { 'agents.x-k8s.io/sandbox-template-ref-hash': 'b713719b' };
  const slot = { ...label, 'sandlot.dev/claim-name': 'batch' };
  const ownedBy = (apiVersion: string, kind: string) => [
    { apiVersion, kind, name: 'o', uid: 'uid-o', controller: true },
  ];
  const extension = 'extensions.agents.x-k8s.io/v1alpha1';
  it.each([
    ['without an owner', {}, true],
    ['with the label of a template that nobody but its author gave it', { labels: label }, true],
    ['that a claim owns', { labels: label, ownerReferences: ownedBy(extension, 'SandboxClaim') }, false],
    ['that a pool owns', { labels: label, ownerReferences: ownedBy(extension, 'SandboxWarmPool') }, false],
    ['that a detached claim delivered', { labels: slot }, false],
    ['that another program owns', { labels: label, ownerReferences: ownedBy('apps/v1', 'Deployment') }, true],
    ['that a claim owns and whose label is gone', { ownerReferences: ownedBy(extension, 'SandboxClaim') }, true],
  ])('%s: %s', (_, metadata, expected) => {
    expect(isAuthored(sandbox({ metadata }))).toBe(expected);
  });
});
