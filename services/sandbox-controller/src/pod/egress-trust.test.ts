import type { Sandbox } from '@sandlot/api-types';
import type { EnvVar, Pod } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { buildSnapshot, getStep, makePod, MOUNTED_RUNTIME, notebook, RUNTIME } from '../../test/builders.ts';
import { FIRST, SECOND } from '../../test/certificates.ts';
import { buildPod } from './build-pod.ts';
import { decidePod } from './decide-pod.ts';

const POOL = {
  apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
  kind: 'SandboxWarmPool',
  name: 'pool',
  uid: 'uid-pool',
  controller: true,
};
const steered = { labels: { 'sandlot.dev/egress': 'steered' }, ownerReferences: [POOL] };

const asking = (metadata: Sandbox['metadata'], env: EnvVar[] = []): Sandbox =>
  notebook({
    metadata,
    spec: {
      podTemplate: { spec: { containers: [{ name: 'main', env }, { name: 'other' }] } },
      runtime: { inject: true },
    },
  });

const listAuthorities = ({ spec }: Pod): unknown[] =>
  [...(spec.initContainers ?? []), ...spec.containers].flatMap(({ name, env = [] }) =>
    env.filter((variable) => variable.name === 'SANDLOT_EGRESS_CA').map(({ value }) => [name, value]),
  );

describe('the authority of the egress proxy', () => {
  it.each([
    ['that an installer brings', RUNTIME],
    ['that is a volume', MOUNTED_RUNTIME],
  ])('is for a daemon %s, in a Pod that meets the proxy', (_, runtime) => {
    const pod = buildPod(asking(steered), { ...runtime, egressCa: FIRST });
    expect(listAuthorities(pod)).toEqual([['main', FIRST]]);
  });

  it('cannot be that of a template', () => {
    const own = [{ name: 'SANDLOT_EGRESS_CA', value: SECOND }];
    expect(listAuthorities(buildPod(asking(steered, own), { ...RUNTIME, egressCa: FIRST }))).toEqual([['main', FIRST]]);
    expect(listAuthorities(buildPod(asking({}, own), { ...RUNTIME, egressCa: FIRST }))).toEqual([['main', '']]);
  });

  it.each([
    ['of a template that is Direct', { ownerReferences: [POOL] }, FIRST],
    ['of a Sandbox whose author set the label', { labels: steered.labels }, FIRST],
    ['while there is none', steered, ''],
    ['in an installation without the proxy', steered, undefined],
  ])('is set to nothing in a Pod %s, as an unset variable could come from envFrom', (_, metadata, egressCa) => {
    expect(listAuthorities(buildPod(asking(metadata), { ...RUNTIME, egressCa }))).toEqual([['main', '']]);
  });

  it('is left out of a Pod without the daemon', () => {
    const plain = notebook({ metadata: steered });
    expect(listAuthorities(buildPod(plain, { ...RUNTIME, egressCa: FIRST }))).toEqual([]);
  });

  it('comes from the look of the pass, and a Pod is created without it too', () => {
    const sandbox = asking(steered);
    for (const egressCa of [FIRST, '']) {
      const { pod } = getStep(decidePod(buildSnapshot({ sandbox, egressCa })), 'createPod');
      expect(listAuthorities(pod)).toEqual([['main', egressCa]]);
    }
  });

  it('makes no Pod stale when it is another one', () => {
    const sandbox = asking(steered);
    const { spec, metadata } = buildPod(sandbox, { ...RUNTIME, egressCa: FIRST });
    const { status } = makePod(sandbox);
    const pod = { spec, metadata: { ...metadata, uid: 'uid-pod' }, status };
    expect(decidePod(buildSnapshot({ sandbox, ownedPods: [pod], egressCa: SECOND }))).toEqual([]);
  });
});
