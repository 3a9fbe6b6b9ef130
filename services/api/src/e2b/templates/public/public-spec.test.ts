import type { SandboxTemplateSpec } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { buildCopySpec, findClosedField } from './public-spec.ts';

const container = { name: 'sandbox', image: 'registry/team-a/app@sha256:0' };
const plain: SandboxTemplateSpec = {
  podTemplate: {
    spec: { runtimeClassName: 'gvisor', containers: [{ ...container, env: [{ name: 'A', value: 'b' }] }] },
  },
  runtime: { inject: true },
  envVarsInjectionPolicy: 'Allowed',
};

const withPod = (pod: object): object => ({ podTemplate: { spec: { containers: [container], ...pod } } });
const withContainer = (fields: object): object => withPod({ containers: [container, { ...container, ...fields }] });

describe('a template', () => {
  it.each([
    ['secretKeyRef', withContainer({ env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] })],
    [
      'configMapKeyRef',
      withContainer({ env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 's', key: 'k' } } }] }),
    ],
    ['envFrom of a Secret', withContainer({ envFrom: [{ secretRef: { name: 's' } }] })],
    ['envFrom in an init container', withPod({ initContainers: [{ ...container, envFrom: [{ configMapRef: {} }] }] })],
    ['a Secret as a volume', withPod({ volumes: [{ name: 'v', secret: { secretName: 's' } }] })],
    ['a ConfigMap as a volume', withPod({ volumes: [{ name: 'v', configMap: { name: 's' } }] })],
    ['a projected volume', withPod({ volumes: [{ name: 'v', projected: { sources: [] } }] })],
    ['a disk of the namespace', withPod({ volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] })],
    ['a directory of the node', withPod({ volumes: [{ name: 'v', hostPath: { path: '/' } }] })],
    ['a service account', withPod({ serviceAccountName: 'deployer' })],
    ['the network of the node', withPod({ hostNetwork: true })],
    ['a resource claim', withPod({ resourceClaims: [{ name: 'r', resourceClaimName: 'c' }] })],
    [
      'labels of its Pods',
      { podTemplate: { metadata: { labels: { app: 'web' } }, spec: { containers: [container] } } },
    ],
    ['network rules', { networkPolicy: { egress: [{}] } }],
    ['no network rules at all', { networkPolicyManagement: 'Unmanaged' }],
    ['header rules', { egress: { rules: [] } }],
    ['disks that claims choose', { dynamicVolumesPolicy: 'Allowed' }],
    ['a snapshot', { restoreFrom: { snapshotName: 's' } }],
  ])('with %s cannot be public', (_name, fields) => {
    expect(findClosedField({ ...plain, ...fields })).toBeDefined();
  });

  it('of a build can, with what the API server fills in', () => {
    const filled = { networkPolicyManagement: 'Managed', volumeClaimTemplatesPolicy: 'Disallowed' } as const;
    expect(findClosedField({ ...plain, ...filled })).toBeUndefined();
    expect(findClosedField({ ...plain, ...withPod({ volumes: [{ name: 'v', emptyDir: {} }] }) })).toBeUndefined();
    expect(findClosedField({ ...plain, suspensionStrategy: { type: 'Hibernate' } })).toBeUndefined();
  });
});

it('a copy has the Pod without a token, and no field beside those that make it', () => {
  const copy = buildCopySpec({
    ...plain,
    suspensionStrategy: { type: 'Hibernate' },
    networkPolicyManagement: 'Managed',
  });
  const { podTemplate, ...fields } = plain;
  expect(copy).toEqual({
    ...fields,
    suspensionStrategy: { type: 'Hibernate' },
    podTemplate: { spec: { ...podTemplate.spec, automountServiceAccountToken: false } },
  });
});
