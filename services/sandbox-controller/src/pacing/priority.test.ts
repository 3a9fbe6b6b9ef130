import { annotations, labels } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Priority } from '@sandlot/kube';
import { expect, it } from 'vitest';
import { notebook } from '../../test/builders.ts';
import { priorityOf } from './priority.ts';

const READY = {
  type: 'Ready',
  status: 'True',
  reason: 'DependenciesReady',
  message: '',
  lastTransitionTime: '',
} as const;

const pool = {
  apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
  kind: 'SandboxWarmPool',
  name: 'pool',
  uid: 'pool-uid',
  controller: true,
};

/** Adopted a moment ago: Ready, and its status does not tell of the new generation yet. */
function adopted(parts: Partial<Sandbox> = {}): Sandbox {
  const base = notebook();
  const metadata = { ...base.metadata, generation: 2, labels: { [labels.launchType]: 'warm' }, ...parts.metadata };
  return { ...base, status: { observedGeneration: 1, conditions: [READY] }, ...parts, metadata };
}

const base = notebook();

it.each<[string, Sandbox, Priority]>([
  ['a Sandbox of its own is somebody’s', base, 'normal'],
  [
    'a member of a pool was asked for by its pool',
    { ...base, metadata: { ...base.metadata, ownerReferences: [pool] } },
    'normal',
  ],
  ['nobody waits for what follows an adoption', adopted(), 'background'],
  ['one that is adopted and not Ready is waited for', adopted({ status: { observedGeneration: 1 } }), 'normal'],
  ['so is its suspension', adopted({ spec: { ...base.spec, operatingMode: 'Suspended' } }), 'normal'],
  ['so is another image', adopted({ metadata: { annotations: { [annotations.inplaceImage]: 'other' } } }), 'normal'],
  [
    'once it is told of, it is like any other',
    adopted({ status: { observedGeneration: 2, conditions: [READY] } }),
    'normal',
  ],
])('%s', (...[, sandbox, priority]) => {
  expect(priorityOf(sandbox)).toBe(priority);
});
