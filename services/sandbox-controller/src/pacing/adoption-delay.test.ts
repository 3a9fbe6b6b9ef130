import type { Sandbox } from '@sandlot/api-types';
import { expect, it } from 'vitest';
import { getDelay } from './adoption-delay.ts';
import { notebook } from '../../test/builders.ts';

const READY = {
  type: 'Ready',
  status: 'True',
  reason: 'DependenciesReady',
  message: '',
  lastTransitionTime: '',
} as const;
const owner = (kind: string) => ({
  apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
  kind,
  name: 'owner',
  uid: 'owner-uid',
  controller: true,
});

function buildSandbox(kind: string, parts: Partial<Sandbox> = {}): Sandbox {
  const base = notebook();
  return {
    ...base,
    status: { conditions: [READY] },
    ...parts,
    metadata: { ...base.metadata, ownerReferences: [owner(kind)], ...parts.metadata },
  };
}

const member = buildSandbox('SandboxWarmPool');
const claimed = buildSandbox('SandboxClaim');
const withImage = (image: string): Sandbox['spec'] => ({
  podTemplate: { spec: { containers: [{ name: 'main', image }] } },
});

it.each<[string, Sandbox | undefined, Sandbox | undefined, number]>([
  ['the adoption of a Ready member waits 800 ms', member, claimed, 800],
  [
    'the adoption by a detached claim waits, too',
    member,
    { ...claimed, metadata: { ...claimed.metadata, ownerReferences: [] } },
    800,
  ],
  ['the adoption of a member that is not Ready does not wait', member, { ...claimed, status: {} }, 0],
  [
    'an adoption with another image does not wait',
    { ...member, spec: withImage('a') },
    { ...claimed, spec: withImage('b') },
    0,
  ],
  [
    'an adoption with its own network rules does not wait',
    member,
    { ...claimed, metadata: { ...claimed.metadata, labels: { 'sandlot.dev/network': 'own' } } },
    0,
  ],
  ['a new Sandbox does not wait', undefined, claimed, 0],
  ['a Sandbox that is gone does not wait', member, undefined, 0],
  [
    'a Sandbox that is being deleted does not wait',
    member,
    { ...claimed, metadata: { ...claimed.metadata, deletionTimestamp: 'now' } },
    0,
  ],
  ['a change of a claimed Sandbox does not wait', claimed, claimed, 0],
  ['a change of a member does not wait', member, member, 0],
])('%s', (...[, old, next, delayMs]) => {
  expect(getDelay({ old, next })).toBe(delayMs);
});
