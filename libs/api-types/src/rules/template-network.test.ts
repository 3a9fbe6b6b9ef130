import type { NetworkPolicy } from '@sandlot/kube/objects';
import { describe, expect, it } from 'vitest';
import type { SandboxTemplate } from '../objects.ts';
import { buildTemplateNetwork, template } from '../../test/index.ts';
import { findNetworkGap } from './template-network.ts';

type Change = (made: { template: SandboxTemplate; policy: NetworkPolicy }) => void;

function findGap(change: Change): string | undefined {
  const plain = template();
  const { status, policy } = buildTemplateNetwork(plain);
  const made = { template: { ...plain, status }, policy };
  change(made);
  return findNetworkGap(made.template, made.policy);
}

describe('Pods of a template may start', () => {
  it('when its policy is in place for its generation', () => {
    expect(findGap(() => undefined)).toBeUndefined();
  });

  it('when its policy is from an earlier release, which made the template the owner', () => {
    const plain = template();
    const { status, policy } = buildTemplateNetwork(plain);
    const { name = '', uid = '' } = plain.metadata;
    const owner = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxTemplate', name, uid };
    const metadata = { name: policy.metadata.name, ownerReferences: [{ ...owner, controller: true }] };
    expect(findNetworkGap({ ...plain, status }, { ...policy, metadata })).toBeUndefined();
  });

  it('without a policy when it is Unmanaged', () => {
    const unmanaged = template({ spec: { networkPolicyManagement: 'Unmanaged' } });
    expect(findNetworkGap(unmanaged, undefined)).toBeUndefined();
  });
});

describe('no Pod of a template may start', () => {
  it.each<[string, Change, string]>([
    ['while nothing is known of its policy', (made) => delete made.template.status, 'has not written it'],
    [
      'while its policy is of an older generation',
      ({ template: { metadata } }) => (metadata.generation = 2),
      'has not written it',
    ],
    [
      'while the API server refuses its rules',
      ({ template: { status } }) =>
        status?.conditions?.forEach((ready) => Object.assign(ready, { status: 'False', message: 'ports: Invalid' })),
      'ports: Invalid',
    ],
    [
      'while its policy is being deleted',
      ({ policy }) => (policy.metadata.deletionTimestamp = '2026-01-01T00:00:00Z'),
      'is missing',
    ],
    [
      'while a policy of that name is of an earlier template',
      ({ template: { metadata } }) => (metadata.uid = 'another'),
      'is missing',
    ],
  ])('%s', (_, change, expected) => {
    expect(findGap(change)).toContain(expected);
  });

  it('while its policy is missing, whatever the condition says', () => {
    const plain = template();
    const { status } = buildTemplateNetwork(plain);
    expect(findNetworkGap({ ...plain, status }, undefined)).toContain('"template-network-policy" is missing');
  });
});
