import { createPublicKey } from 'node:crypto';
import { inspect } from 'node:util';
import type { Sandbox } from '@sandlot/api-types';
import type { Container, EnvVar, PodSpec } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { buildSnapshot, getStep, kinds, MOUNTED_RUNTIME, notebook, RUNTIME } from '../../test/builders.ts';
import { buildPod } from './build-pod.ts';
import { decidePod } from './decide-pod.ts';
import { deriveSandboxKey } from './sandbox-key.ts';

const UID = 'uid-1';
const { privateKey, publicKeyHash } = deriveSandboxKey(MOUNTED_RUNTIME.identitySeed, UID);
const FORGED = { name: 'SANDLOT_IDENTITY', value: `sandlot-identity:v1:${'f'.repeat(43)}:49983` };

/** A Sandbox that asks for the daemon. */
function asking(container: Partial<Container> = {}, more: Partial<PodSpec> = {}, image?: string): Sandbox {
  const spec = { containers: [{ name: 'main', image: 'busybox', ...container }], ...more };
  const runtime = { inject: true, ...(image === undefined ? {} : { image }) };
  return notebook({ metadata: { uid: UID }, spec: { podTemplate: { spec }, runtime } });
}

const build = (sandbox: Sandbox): PodSpec => buildPod(sandbox, MOUNTED_RUNTIME).spec;
const decide = (sandbox: Sandbox, runtime: typeof MOUNTED_RUNTIME | typeof RUNTIME = MOUNTED_RUNTIME) =>
  decidePod(buildSnapshot({ sandbox, settings: { runtime } }));
const findVariable = ({ containers }: PodSpec, name: string, index = 0): string | undefined =>
  containers[index]?.env?.findLast((variable) => variable.name === name)?.value;

describe('a Pod whose node mounts the daemon', () => {
  it('has no init container of ours, and a volume each for program, key and state', () => {
    const spec = build(asking({}, { volumes: [{ name: 'own' }] }));
    expect(spec.initContainers).toBeUndefined();
    expect(spec.volumes).toEqual([
      { name: 'own' },
      { name: 'sandlot-runtime', image: { reference: RUNTIME.image, pullPolicy: 'IfNotPresent' } },
      {
        name: 'sandlot-runtime-identity',
        secret: { secretName: expect.stringMatching(/^notebook-runtime-[0-9a-f]{8}$/) as string, defaultMode: 0o444 },
      },
      { name: 'sandlot-runtime-state', emptyDir: { medium: 'Memory', sizeLimit: '16Mi' } },
    ]);
    expect(spec.containers[0]?.volumeMounts).toEqual([
      { name: 'sandlot-runtime-state', mountPath: '/.sandlot' },
      { name: 'sandlot-runtime', mountPath: '/.sandlot/bin', readOnly: true },
      { name: 'sandlot-runtime-identity', mountPath: '/.sandlot/identity', readOnly: true },
    ]);
  });

  it('keeps the init containers of its template', () => {
    const spec = build(asking({}, { initContainers: [{ name: 'setup' }] }));
    expect(spec.initContainers).toEqual([{ name: 'setup' }]);
  });

  it('takes the image that the Sandbox names over that of the installation', () => {
    const [volume] = build(asking({}, {}, 'registry.test/own:2')).volumes ?? [];
    expect(volume?.['image']).toMatchObject({ reference: 'registry.test/own:2' });
  });

  it.each<[string, EnvVar[], string]>([
    ['both ports', [], '49983,8888'],
    [
      'the port of the daemon alone when the agent-sandbox API is off',
      [{ name: 'SANDLOT_EXEC_PORT', value: '0' }],
      '49983',
    ],
    [
      'the ports of sandboxd too when the template asks for them',
      [{ name: 'SANDLOT_SANDBOXD_PORTS', value: '8080,9090' }],
      '49983,8888,8080,9090',
    ],
  ])('announces its key for %s, and names the file', (_, env, ports) => {
    const spec = build(asking({ env }));
    expect(findVariable(spec, 'SANDLOT_IDENTITY')).toBe(`sandlot-identity:v1:${publicKeyHash}:${ports}`);
    expect(findVariable(spec, 'SANDLOT_IDENTITY_FILE')).toBe('/.sandlot/identity/identity.key');
  });

  it('announces its own key, whatever the template sets', () => {
    const env = [FORGED, { name: 'SANDLOT_IDENTITY_FILE', value: '/own' }];
    const spec = build(
      asking(
        { env },
        {
          containers: [
            { name: 'main', env },
            { name: 'other', env },
          ],
        },
      ),
    );
    expect(spec.containers[0]?.env?.filter(({ name }) => name.startsWith('SANDLOT_IDENTITY'))).toHaveLength(2);
    expect(findVariable(spec, 'SANDLOT_IDENTITY')).toContain(publicKeyHash);
    expect(findVariable(spec, 'SANDLOT_IDENTITY', 1)).toBeUndefined();
  });
});

describe('a Pod without an injected daemon', () => {
  it.each<[string, Sandbox]>([
    ['whose template has a daemon of its own', asking({ env: [FORGED], ports: [{ containerPort: 49_983 }] })],
    [
      'whose Sandbox asks for none',
      notebook({ spec: { podTemplate: { spec: { containers: [{ name: 'main', env: [FORGED] }] } } } }),
    ],
  ])('announces no key: %s', (_, sandbox) => {
    for (const runtime of [RUNTIME, MOUNTED_RUNTIME]) {
      const { spec } = buildPod(sandbox, runtime);
      expect(JSON.stringify(spec)).not.toContain('sandlot-identity');
      expect(decide(sandbox, runtime).map(({ kind }) => kind)).toEqual(['createPod']);
    }
  });
});

describe('the Secret with the key of a Sandbox', () => {
  it('comes before the Pod, which mounts it', () => {
    const plan = decide(asking());
    expect(plan.map(({ kind }) => kind)).toEqual(['createKeySecret', 'createPod']);
    const { secret } = getStep(plan, 'createKeySecret');
    const { pod } = getStep(plan, 'createPod');
    expect(pod.spec.volumes?.[1]?.['secret']).toMatchObject({ secretName: secret.metadata.name });
    expect(secret).toMatchObject({
      type: 'sandlot.dev/runtime-identity',
      immutable: true,
      metadata: {
        namespace: 'team-a',
        labels: { 'agents.x-k8s.io/sandbox-name-hash': expect.any(String) as string },
        ownerReferences: [{ kind: 'Sandbox', uid: UID, controller: true, blockOwnerDeletion: true }],
      },
    });
  });

  it('has the key that the Pod announces, and the step prints none of it', () => {
    const plan = decide(asking());
    const step = getStep(plan, 'createKeySecret');
    expect(createPublicKey(step.privateKey).equals(createPublicKey(privateKey))).toBe(true);
    const { d = '' } = privateKey.export({ format: 'jwk' });
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString().split('\n')[1] ?? '';
    for (const shown of [inspect(plan, { depth: 20 }), JSON.stringify(plan)]) {
      expect(shown).not.toContain(d);
      expect(shown).not.toContain(pem);
    }
  });

  it('is another one for a new Sandbox of the name, so the Secret of the old one is never in its place', () => {
    const name = (sandbox: Sandbox): string | undefined =>
      getStep(decide(sandbox), 'createKeySecret').secret.metadata.name;
    const again = { ...asking(), metadata: { ...asking().metadata, uid: 'uid-2' } };
    expect(name(again)).not.toBe(name(asking()));
  });

  it('is not made where an installer brings the daemon', () => {
    expect(kinds(buildSnapshot({ sandbox: asking() }))).toEqual(['createPod']);
  });

  it('needs the seed of the installation, and the Sandbox says so', () => {
    const runtime = { ...RUNTIME, delivery: 'ImageVolume' as const };
    const plan = decidePod(buildSnapshot({ sandbox: asking(), settings: { runtime } }));
    expect(getStep(plan, 'reportFailure').message).toContain('set RUNTIME_IDENTITY_SEED of the sandbox-controller');
  });
});
