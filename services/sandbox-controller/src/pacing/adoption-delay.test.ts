import type { Sandbox } from '@sandlot/api-types';
import { expect, it } from 'vitest';
import { delayOf } from './adoption-delay.ts';
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

function sandboxOf(kind: string, parts: Partial<Sandbox> = {}): Sandbox {
  const base = notebook();
  return {
    ...base,
    status: { conditions: [READY] },
    ...parts,
    metadata: { ...base.metadata, ownerReferences: [owner(kind)], ...parts.metadata },
  };
}

const member = sandboxOf('SandboxWarmPool');
const claimed = sandboxOf('SandboxClaim');
const withImage = (image: string): Sandbox['spec'] => ({
  podTemplate: { spec: { containers: [{ name: 'main', image }] } },
});

it.each<[string, Sandbox | undefined, Sandbox | undefined, number]>([
  ['the adoption of a Ready member can wait most of a second', member, claimed, 800],
  [
    'so can that by a claim that does not own it',
    member,
    { ...claimed, metadata: { ...claimed.metadata, ownerReferences: [] } },
    800,
  ],
  ['the adoption of one that is not Ready yet cannot', member, { ...claimed, status: {} }, 0],
  ['one with another image cannot', { ...member, spec: withImage('a') }, { ...claimed, spec: withImage('b') }, 0],
  [
    'one with network rules of its own cannot',
    member,
    { ...claimed, metadata: { ...claimed.metadata, labels: { 'sandlot.dev/network': 'own' } } },
    0,
  ],
  ['a new Sandbox cannot', undefined, claimed, 0],
  ['a Sandbox that is gone cannot', member, undefined, 0],
  [
    'one that is being deleted cannot',
    member,
    { ...claimed, metadata: { ...claimed.metadata, deletionTimestamp: 'now' } },
    0,
  ],
  ['a change of a claimed one cannot', claimed, claimed, 0],
  ['a change of a member cannot', member, member, 0],
])('%s', (...[, old, next, delayMs]) => {
  expect(delayOf({ old, next })).toBe(delayMs);
});
