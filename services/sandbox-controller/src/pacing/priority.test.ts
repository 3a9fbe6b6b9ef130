import { annotations, labels } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Priority } from '@sandlot/kube';
import { expect, it } from 'vitest';
import { notebook } from '../../test/builders.ts';
import { getPriority } from './priority.ts';

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

/** Adopted a moment ago: Ready, and its status does not show the new generation yet. */
function adopted(parts: Partial<Sandbox> = {}): Sandbox {
  const base = notebook();
  const metadata = { ...base.metadata, generation: 2, labels: { [labels.launchType]: 'warm' }, ...parts.metadata };
  return { ...base, status: { observedGeneration: 1, conditions: [READY] }, ...parts, metadata };
}

const base = notebook();

it.each<[string, Sandbox, Priority]>([
  ['writes for an authored Sandbox are normal', base, 'normal'],
  [
    'writes for a pool member are normal',
    { ...base, metadata: { ...base.metadata, ownerReferences: [pool] } },
    'normal',
  ],
  ['writes that follow an adoption are background', adopted(), 'background'],
  [
    'writes for an adopted Sandbox that is not Ready are normal',
    adopted({ status: { observedGeneration: 1 } }),
    'normal',
  ],
  ['its suspension is normal', adopted({ spec: { ...base.spec, operatingMode: 'Suspended' } }), 'normal'],
  [
    'another image is normal',
    adopted({ metadata: { annotations: { [annotations.inplaceImage]: 'other' } } }),
    'normal',
  ],
  [
    'once its generation is published, it is like any other',
    adopted({ status: { observedGeneration: 2, conditions: [READY] } }),
    'normal',
  ],
])('%s', (...[, sandbox, priority]) => {
  expect(getPriority(sandbox)).toBe(priority);
});
