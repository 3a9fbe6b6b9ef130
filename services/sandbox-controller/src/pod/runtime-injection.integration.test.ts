import { generateKeyPairSync } from 'node:crypto';
import type { Container } from '@sandlot/kube/objects';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NAMESPACE, RealCluster } from '../../test/real-cluster.ts';

const RUNTIME = 'registry.test/runtime:1';

/** A container that the restricted Pod Security Standard accepts. */
const restricted = {
  name: 'main',
  image: 'busybox',
  securityContext: {
    runAsNonRoot: true,
    runAsUser: 1000,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  },
};

let cluster: RealCluster;
beforeAll(async () => {
  const pem = generateKeyPairSync('ed25519').publicKey.export({ format: 'pem', type: 'spki' }).toString();
  cluster = await RealCluster.start({}, { RUNTIME_IMAGE: RUNTIME, RUNTIME_PUBLIC_KEY: pem });
  const label = 'pod-security.kubernetes.io/enforce=restricted';
  await cluster.plane.kubectl(['label', 'namespace', NAMESPACE, label]);
});
afterAll(() => cluster[Symbol.asyncDispose]());

describe('a Pod with the daemon, in a namespace that enforces the restricted Pod Security Standard', () => {
  it.each<[string, Container, unknown]>([
    ['wrapped', { ...restricted, command: ['sleep', '3600'] }, undefined],
    ['hooked', restricted, undefined],
    [
      'held-back',
      { ...restricted, env: [{ name: 'SANDLOT_READY_COMMAND', value: 'test -e /up' }] },
      expect.objectContaining({ exec: { command: ['/.sandlot/bin/sandlot-runtime', 'ready'] } }),
    ],
  ])('is accepted: %s', async (name, container, startupProbe) => {
    const podTemplate = { spec: { containers: [container] } };
    const made = await cluster.create(name, { podTemplate, runtime: { inject: true } });
    const pod = await cluster.untilPod(name);
    expect(pod.spec.initContainers?.[0]).toMatchObject({ name: 'sandlot-runtime-install', image: RUNTIME });
    const [main] = pod.spec.containers;
    expect(main?.env).toContainEqual({ name: 'SANDLOT_SANDBOX_UID', value: made.metadata.uid });
    const podUid = main?.env?.find((variable) => variable.name === 'SANDLOT_POD_UID');
    expect(podUid?.['valueFrom']).toMatchObject({ fieldRef: { fieldPath: 'metadata.uid' } });
    expect(main?.env?.find((variable) => variable.name === 'SANDLOT_RUNTIME_PUBLIC_KEY')?.value).toMatch(
      /^[\w+/]{43}=$/,
    );
    expect(main?.['startupProbe']).toEqual(startupProbe);
    const kept = await cluster.sandbox(name);
    expect(kept.spec.podTemplate.spec).toEqual(made.spec.podTemplate.spec);
  });
});
