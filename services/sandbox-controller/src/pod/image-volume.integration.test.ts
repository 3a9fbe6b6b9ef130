import { createHash, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { sandboxes } from '@sandlot/api-types';
import { pods, secrets } from '@sandlot/kube';
import type { Pod, Secret } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { at, NAMESPACE, ownedBy, READY, RealCluster, SUSPENDED } from '../../test/real-cluster.ts';

const RUNTIME = 'registry.test/runtime:1';
const spec = { runtime: { inject: true } };

/** A container that the restricted Pod Security Standard accepts. */
const restricted = {
  name: 'main',
  image: 'busybox',
  command: ['sleep', '3600'],
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
  cluster = await RealCluster.start(
    {},
    {
      RUNTIME_IMAGE: RUNTIME,
      RUNTIME_PUBLIC_KEY: pem,
      RUNTIME_DELIVERY: 'ImageVolume',
      RUNTIME_IDENTITY_SEED: Buffer.alloc(32, 7).toString('base64'),
    },
  );
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** The Secret that the Pod mounts. */
function readKeySecret({ spec: { volumes = [] } }: Pod): Promise<Secret> {
  const mounted = volumes.find(({ name }) => name === 'sandlot-runtime-identity')?.['secret'];
  const { secretName } = mounted as { readonly secretName: string };
  return cluster.client.get(secrets, at(secretName));
}

function hashKey({ data = {} }: Secret): string {
  const publicKey = createPublicKey(Buffer.from(data['identity.key'] ?? '', 'base64').toString());
  return createHash('sha256')
    .update(publicKey.export({ format: 'der', type: 'spki' }))
    .digest('base64url');
}

describe('a Sandbox whose daemon comes as a volume of its image', () => {
  it('has a Pod without an installer, and names the key in its Secret when it is Ready', async () => {
    const { status, ...sandbox } = await cluster.ready('mounted', spec);
    const pod = await cluster.pod('mounted');
    expect(pod.spec.initContainers).toBeUndefined();
    expect(pod.spec.volumes).toContainEqual({
      name: 'sandlot-runtime',
      image: { reference: RUNTIME, pullPolicy: 'IfNotPresent' },
    });
    const secret = await readKeySecret(pod);
    expect(secret).toMatchObject({ type: 'sandlot.dev/runtime-identity', immutable: true });
    expect(secret.metadata.ownerReferences).toEqual(ownedBy(sandbox));
    expect(status?.runtime?.identity).toEqual({ publicKeyHash: hashKey(secret), ports: [49_983, 8_888] });
  });

  it('keeps its key over a suspension, and its Secret goes with it', async () => {
    const { status } = await cluster.ready('sleeper', spec);
    const before = await cluster.pod('sleeper');
    const secret = await readKeySecret(before);
    await cluster.edit('sleeper', { operatingMode: 'Suspended' });
    await cluster.untilGone(pods, 'sleeper');
    await cluster.until('sleeper', SUSPENDED);
    await cluster.edit('sleeper', { operatingMode: 'Running' });
    await cluster.runPod('sleeper', before);
    const resumed = await cluster.until('sleeper', READY);
    expect(resumed.status?.runtime?.identity).toEqual(status?.runtime?.identity);
    await cluster.client.delete(sandboxes, at('sleeper'));
    await cluster.untilGone(secrets, secret.metadata.name ?? '');
  });

  it('has another key than a Sandbox that had its name before', async () => {
    const { status } = await cluster.ready('again', spec);
    const before = await cluster.pod('again');
    await cluster.client.delete(sandboxes, at('again'));
    await cluster.untilGone(sandboxes, 'again');
    await cluster.create('again', spec);
    await cluster.runPod('again', before);
    const next = await cluster.until('again', READY);
    const { publicKeyHash } = next.status?.runtime?.identity ?? {};
    expect(publicKeyHash).not.toBe(status?.runtime?.identity?.publicKeyHash);
    expect(hashKey(await readKeySecret(await cluster.pod('again')))).toBe(publicKeyHash);
  });

  it('names the key of the installation, whatever its template announces', async () => {
    const identity = { name: 'SANDLOT_IDENTITY', value: `sandlot-identity:v1:${'f'.repeat(43)}:49983` };
    const forging = { ...restricted, env: [identity, { name: 'SANDLOT_IDENTITY_FILE', value: '/tmp/own' }] };
    const { status } = await cluster.ready('forger', { ...spec, podTemplate: { spec: { containers: [forging] } } });
    const secret = await readKeySecret(await cluster.pod('forger'));
    expect(status?.runtime?.identity?.publicKeyHash).toBe(hashKey(secret));
    const plain = { ...forging, ports: [{ containerPort: 49_983 }] };
    const own = await cluster.ready('own', { ...spec, podTemplate: { spec: { containers: [plain] } } });
    expect(own.status?.runtime?.identity).toBeUndefined();
  });
});

describe('in a namespace that enforces the restricted Pod Security Standard', () => {
  it('the Pod is accepted', async () => {
    const label = 'pod-security.kubernetes.io/enforce=restricted';
    await cluster.plane.kubectl(['label', 'namespace', NAMESPACE, label]);
    await cluster.create('restricted', { ...spec, podTemplate: { spec: { containers: [restricted] } } });
    expect((await cluster.untilPod('restricted')).spec.containers[0]?.env).toContainEqual({
      name: 'SANDLOT_IDENTITY_FILE',
      value: '/.sandlot/identity/identity.key',
    });
  });
});
