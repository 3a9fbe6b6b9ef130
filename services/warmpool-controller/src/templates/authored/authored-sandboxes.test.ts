import { isWithoutTemplate } from '@sandlot/api-types';
import { sandbox } from '@sandlot/api-types/testing';
import { networkPolicies } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { buildDefaultRules } from '../network/rules.ts';
import { NETWORK, TemplateHarness } from '../../../test/template-harness.ts';

const PROTECTED = { protectAuthoredSandboxes: true };

describe('the policy of a namespace for directly authored Sandboxes', () => {
  it('exists from the first to the last of them, and selects no Pod of a template', async () => {
    await using harness = await TemplateHarness.start();
    harness.startController(PROTECTED);
    harness.createAuthored('first');
    await harness.eventually(() => expect(harness.authoredPolicy()).toBeDefined());
    const { metadata, spec } = harness.authoredPolicy() ?? {};
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
      ...buildDefaultRules(NETWORK),
    });
    harness.createAuthored('second');
    await harness.eventually(() => expect(harness.authoredPolicy()?.metadata.ownerReferences).toHaveLength(2));
    harness.removeSandbox('first');
    await harness.eventually(() =>
      expect(harness.authoredPolicy()?.metadata.ownerReferences?.map(({ name }) => name)).toEqual(['second']),
    );
    harness.removeSandbox('second');
    await harness.eventually(() => expect(harness.authoredPolicy()).toBeUndefined());
  });

  it('is not created for Sandboxes of claims and pools', async () => {
    await using harness = await TemplateHarness.start();
    harness.createClaimed('claimed');
    harness.startController(PROTECTED);
    await harness.elapse(1_000);
    expect(harness.authoredPolicy()).toBeUndefined();
  });

  it('has at most five owners, and is written only when one of them goes', async () => {
    await using harness = await TemplateHarness.start();
    for (let index = 0; index < 40; index += 1) harness.createAuthored(`box-${index}`);
    harness.startController(PROTECTED);
    await harness.eventually(() => expect(harness.authoredPolicy()?.metadata.ownerReferences).toHaveLength(5));
    harness.api.clearRequests();
    const owners = new Set(harness.authoredPolicy()?.metadata.ownerReferences?.map(({ name }) => name));
    const others = Array.from({ length: 40 }, (_, index) => `box-${index}`).filter((name) => !owners.has(name));
    for (const name of others.slice(0, 20)) harness.removeSandbox(name);
    await harness.elapse(500);
    expect(harness.writes()).toEqual([]);
    const [leaving = ''] = owners;
    harness.removeSandbox(leaving);
    await harness.eventually(() => {
      const names = harness.authoredPolicy()?.metadata.ownerReferences?.map(({ name }) => name);
      expect(names).toHaveLength(5);
      expect(names).not.toContain(leaving);
    });
  });

  it('is restored after another client changes or deletes it', async () => {
    await using harness = await TemplateHarness.start();
    harness.createAuthored('box');
    harness.startController(PROTECTED);
    await harness.eventually(() => expect(harness.authoredPolicy()).toBeDefined());
    const name = harness.authoredPolicy()?.metadata.name ?? '';
    const { spec } = harness.authoredPolicy() ?? {};
    harness.removePolicy(name);
    await harness.eventually(() => expect(harness.authoredPolicy()?.spec).toEqual(spec));
    harness.changePolicy((policy) => (policy.spec = { podSelector: { matchLabels: { app: '' } } }), name);
    await harness.eventually(() => expect(harness.authoredPolicy()?.spec).toMatchObject({ egress: spec?.egress }));
    expect(harness.authoredPolicy()?.spec?.podSelector?.matchLabels ?? {}).toEqual({});
  });

  it('is deleted when protection is switched off, and is left alone when it is not ours', async () => {
    await using harness = await TemplateHarness.start();
    harness.createAuthored('box');
    const first = harness.startController(PROTECTED);
    await harness.eventually(() => expect(harness.authoredPolicy()).toBeDefined());
    await harness.kill(first);
    const metadata = { namespace: 'elsewhere', name: harness.authoredPolicy()?.metadata.name ?? '' };
    const [foreign] = harness.api.seed(networkPolicies, { metadata, spec: { podSelector: {} } });
    harness.startController();
    await harness.eventually(() => expect(harness.authoredPolicy()).toBeUndefined());
    expect(harness.api.object(networkPolicies, metadata)).toEqual(foreign);
  });
});

describe('whether a Sandbox counts as directly authored', () => {
  const label = { 'agents.x-k8s.io/sandbox-template-ref-hash': 'b713719b' };
  const slot = { ...label, 'sandlot.dev/claim-name': 'batch' };
  const ownedBy = (apiVersion: string, kind: string) => [
    { apiVersion, kind, name: 'o', uid: 'uid-o', controller: true },
  ];
  const extension = 'extensions.agents.x-k8s.io/v1alpha1';
  it.each([
    ['without an owner', {}, true],
    ['with a template label from its author', { labels: label }, true],
    ['that a claim owns', { labels: label, ownerReferences: ownedBy(extension, 'SandboxClaim') }, false],
    ['that a pool owns', { labels: label, ownerReferences: ownedBy(extension, 'SandboxWarmPool') }, false],
    ['that a detached claim delivered', { labels: slot }, false],
    ['that another controller owns', { labels: label, ownerReferences: ownedBy('apps/v1', 'Deployment') }, true],
    [
      'that a claim owned until it was orphaned',
      {
        labels: { ...label, 'agents.x-k8s.io/claim-uid': 'uid-c' },
        annotations: { 'agents.x-k8s.io/sandbox-template-ref': 'python-agent' },
      },
      false,
    ],
    ['that a claim owns and that lost its label', { ownerReferences: ownedBy(extension, 'SandboxClaim') }, true],
  ])('%s: %s', (_, metadata, expected) => {
    expect(isWithoutTemplate(sandbox({ metadata }))).toBe(expected);
  });
});
