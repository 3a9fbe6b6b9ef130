import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NAMESPACE, RealWorld } from '../../test/real-cluster.ts';

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

let world: RealWorld;
beforeAll(async () => {
  const pem = generateKeyPairSync('ed25519').publicKey.export({ format: 'pem', type: 'spki' }).toString();
  world = await RealWorld.start({}, { RUNTIME_IMAGE: RUNTIME, RUNTIME_PUBLIC_KEY: pem });
  const label = 'pod-security.kubernetes.io/enforce=restricted';
  await world.plane.kubectl(['label', 'namespace', NAMESPACE, label]);
});
afterAll(() => world[Symbol.asyncDispose]());

describe('a Pod with the daemon, in a namespace that enforces the restricted Pod Security Standard', () => {
  it.each([
    ['wrapped', { ...restricted, command: ['sleep', '3600'] }],
    ['hooked', restricted],
  ])('is accepted: %s', async (name, container) => {
    const podTemplate = { spec: { containers: [container] } };
    const made = await world.create(name, { podTemplate, runtime: { inject: true } });
    const pod = await world.untilPod(name);
    expect(pod.spec.initContainers?.[0]).toMatchObject({ name: 'sandlot-runtime-install', image: RUNTIME });
    const [main] = pod.spec.containers;
    expect(main?.env).toContainEqual({ name: 'SANDLOT_SANDBOX_UID', value: made.metadata.uid });
    expect(main?.env?.find((variable) => variable.name === 'SANDLOT_RUNTIME_PUBLIC_KEY')?.value).toMatch(
      /^[\w+/]{43}=$/,
    );
    const kept = await world.sandbox(name);
    expect(kept.spec.podTemplate.spec).toEqual(made.spec.podTemplate.spec);
  });
});
