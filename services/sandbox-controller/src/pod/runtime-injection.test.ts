import { annotations, EXTENSIONS_GROUP, labels } from '@sandlot/api-types';
import type { Container, EnvVar, ObjectMeta, OwnerReference, PodSpec } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { buildPod } from './build-pod.ts';
import { decidePod } from './decide-pod.ts';
import { kinds, notebook, makePod, published, RUNTIME, buildSnapshot, getStep } from '../../test/builders.ts';

const PROGRAM = '/.sandlot/bin/sandlot-runtime';

/** The Pod of a Sandbox that asks for the daemon. */
function injected(container: Partial<Container>, more: Partial<PodSpec> = {}, image?: string): PodSpec {
  const spec = { containers: [{ name: 'main', image: 'busybox', ...container }], ...more };
  const runtime = { inject: true, ...(image === undefined ? {} : { image }) };
  return buildPod(notebook({ metadata: { uid: 'uid-1' }, spec: { podTemplate: { spec }, runtime } }), RUNTIME).spec;
}

const EXTENSIONS = `${EXTENSIONS_GROUP}/v1beta1`;
const buildOwner = (apiVersion: string, kind: string): OwnerReference => ({
  apiVersion,
  kind,
  name: 'owner',
  uid: 'uid-2',
  controller: true,
});

const first = ({ containers }: PodSpec): Container => containers[0] ?? { name: 'none' };
const variables = (spec: PodSpec): Record<string, string | undefined> =>
  Object.fromEntries((first(spec).env ?? []).map(({ name, value }) => [name, value]));
const lifecycle = (spec: PodSpec): unknown => first(spec)['lifecycle'];

describe('a Pod with the daemon', () => {
  it('gains two volumes and an installer, and nothing else beside its containers', () => {
    const spec = injected({}, { volumes: [{ name: 'own' }], initContainers: [{ name: 'setup' }] });
    expect(spec.volumes).toEqual([
      { name: 'own' },
      { name: 'sandlot-runtime', emptyDir: { sizeLimit: '64Mi' } },
      { name: 'sandlot-runtime-state', emptyDir: { medium: 'Memory', sizeLimit: '16Mi' } },
    ]);
    expect(spec.initContainers?.map(({ name }) => name)).toEqual(['sandlot-runtime-install', 'setup']);
    expect(spec.containers.map(({ name }) => name)).toEqual(['main']);
    expect(first(spec).volumeMounts).toEqual([
      { name: 'sandlot-runtime-state', mountPath: '/.sandlot' },
      { name: 'sandlot-runtime', mountPath: '/.sandlot/bin', readOnly: true },
    ]);
  });

  it('has an installer that a restricted namespace accepts', () => {
    expect(injected({}).initContainers?.[0]).toMatchObject({
      image: RUNTIME.image,
      args: ['install', '/.sandlot/bin'],
      env: [
        { name: 'SANDLOT_EXEC_PORT', value: '8888' },
        { name: 'SANDLOT_SANDBOXD_PORTS', value: '0' },
      ],
      securityContext: {
        runAsNonRoot: true,
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
      },
    });
  });

  it('has an installer that publishes no port for the agent-sandbox API when that is off', () => {
    const env = [{ name: 'SANDLOT_EXEC_PORT', value: '0' }];
    expect(injected({ env }).initContainers?.[0]?.env?.[0]).toEqual(env[0]);
  });

  it('serves the dialect of sandboxd, and has an installer that publishes its ports, when the template asks for it', () => {
    const asked = { name: 'SANDLOT_SANDBOXD_PORTS', value: '8080,9090' };
    const spec = injected({ env: [asked] });
    expect(variables(spec)).toMatchObject({ SANDLOT_SANDBOXD_PORTS: '8080,9090' });
    expect(spec.initContainers?.[0]?.env?.[1]).toEqual(asked);
  });

  it('leaves the ports of sandboxd to the user when the template says nothing', () => {
    expect(variables(injected({}))).toMatchObject({ SANDLOT_SANDBOXD_PORTS: '0' });
  });

  it('takes the image that the Sandbox names over that of the installation', () => {
    expect(injected({}, {}, 'registry.test/own:2').initContainers?.[0]?.image).toBe('registry.test/own:2');
  });

  it('passes its identity to the daemon, whatever the template sets', () => {
    const env = [
      { name: 'SANDLOT_SANDBOX_UID', value: 'another' },
      { name: 'SANDLOT_DEFAULT_USER', value: 'ana' },
      { name: 'SANDLOT_EXEC_PORT', value: '0' },
      { name: 'SANDLOT_EXEC_OPEN', value: 'false' },
      { name: 'SANDLOT_EXEC_PROOF', value: 'false' },
      { name: 'SANDLOT_RUNTIME_UNPROTECTED', value: 'true' },
      { name: 'SANDLOT_RUNTIME_PUBLIC_KEY', value: 'own' },
      { name: 'SANDLOT_GATEWAY_PUBLIC_KEYS', value: 'own' },
      { name: 'SANDLOT_IDENTITY_FILE', value: '/own' },
      { name: 'SANDLOT_IDENTITY', value: 'own' },
      { name: 'SANDLOT_EGRESS_CA', value: 'own' },
    ];
    expect(variables(injected({ env, workingDir: '/app' }))).toEqual({
      SANDLOT_DEFAULT_USER: 'ana',
      SANDLOT_EXEC_PORT: '0',
      SANDLOT_SANDBOXD_PORTS: '0',
      SANDLOT_WORKDIR: '/app',
      SANDLOT_SANDBOX_UID: 'uid-1',
      SANDLOT_RECORDS: 'memory',
      SANDLOT_RUNTIME_DIR: '/.sandlot',
      SANDLOT_ENVD_PORT: '49983',
      SANDLOT_EXEC_OPEN: 'gateway',
      SANDLOT_EXEC_PROOF: 'true',
      SANDLOT_RUNTIME_UNPROTECTED: 'false',
      SANDLOT_RUNTIME_PUBLIC_KEY: RUNTIME.publicKey,
      SANDLOT_GATEWAY_PUBLIC_KEYS: RUNTIME.gatewayKeys.join(','),
      SANDLOT_IDENTITY_FILE: '',
      SANDLOT_IDENTITY: '',
      SANDLOT_EGRESS_CA: '',
    });
  });

  it('names its Pod by a reference, whatever the template sets: the UID is not known before the Pod exists', () => {
    const env = [{ name: 'SANDLOT_POD_UID', value: 'another' }];
    const made = first(injected({ env })).env?.filter(({ name }) => name === 'SANDLOT_POD_UID');
    expect(made).toEqual([{ name: 'SANDLOT_POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } }]);
  });

  it.each<[string, string, ObjectMeta]>([
    ['open to the gateway for an authored Sandbox', 'gateway', {}],
    [
      'open to the gateway for a Sandbox of another controller',
      'gateway',
      { ownerReferences: [buildOwner('apps/v1', 'ReplicaSet')] },
    ],
    ['closed in a pool', 'false', { ownerReferences: [buildOwner(EXTENSIONS, 'SandboxWarmPool')] }],
    ['closed for a claim', 'false', { ownerReferences: [buildOwner(EXTENSIONS, 'SandboxClaim')] }],
    ['closed for a batch, whose Sandboxes have no owner', 'false', { labels: { [labels.claimUid]: 'uid-2' } }],
  ])('has an agent-sandbox API that starts %s', (_, open, metadata) => {
    const spec = { podTemplate: { spec: { containers: [{ name: 'main' }] } }, runtime: { inject: true } };
    const { spec: made } = buildPod(notebook({ metadata, spec }), RUNTIME);
    expect(variables(made)['SANDLOT_EXEC_OPEN']).toBe(open);
  });

  it('has an agent-sandbox API that a claim opens to others than the gateway only where a NetworkPolicy guards it', () => {
    const needsProof = (policy: Record<string, string>, env: EnvVar[] = []) => {
      const spec = { podTemplate: { spec: { containers: [{ name: 'main', env }] } }, runtime: { inject: true } };
      const metadata = {
        ownerReferences: [buildOwner(EXTENSIONS, 'SandboxClaim')],
        labels: { [labels.templateRefHash]: 'hash' },
        annotations: { [annotations.templateRef]: 'base', ...policy },
      };
      return variables(buildPod(notebook({ metadata, spec }), RUNTIME).spec)['SANDLOT_EXEC_PROOF'];
    };
    expect(needsProof({ [annotations.networkPolicy]: 'base-network-policy' })).toBe('false');
    expect(needsProof({})).toBe('true');
    expect(needsProof({}, [{ name: 'SANDLOT_EXEC_OPEN', value: 'true' }])).toBe('false');
  });

  it('has an agent-sandbox API that is open to all only if the author of the Sandbox says so', () => {
    const env = [{ name: 'SANDLOT_EXEC_OPEN', value: 'true' }];
    const spec = { podTemplate: { spec: { containers: [{ name: 'main', env }] } }, runtime: { inject: true } };
    const isOpen = (metadata: ObjectMeta) =>
      variables(buildPod(notebook({ metadata, spec }), RUNTIME).spec)['SANDLOT_EXEC_OPEN'];
    expect(isOpen({})).toBe('true');
    for (const kind of ['SandboxWarmPool', 'SandboxClaim']) {
      expect(isOpen({ ownerReferences: [buildOwner(EXTENSIONS, kind)] })).toBe('false');
    }
  });

  it.each<[string, Partial<Container>, Partial<Container>]>([
    [
      'wraps the command of the container, whose arguments stay',
      { command: ['sleep', '3600'], args: ['--x'] },
      { command: [PROGRAM, 'run', '--', 'sleep', '3600'], args: ['--x'] },
    ],
    [
      'starts in a hook where only the image has the command',
      { args: ['serve'] },
      { args: ['serve'], lifecycle: { postStart: { exec: { command: [PROGRAM, 'start'] } } } },
    ],
    [
      'goes before a hook of the template',
      { lifecycle: { postStart: { exec: { command: ['warm'] } }, preStop: { exec: { command: ['bye'] } } } },
      {
        lifecycle: {
          postStart: { exec: { command: [PROGRAM, 'start', '--', 'warm'] } },
          preStop: { exec: { command: ['bye'] } },
        },
      },
    ],
    [
      'leaves a hook alone when it wraps the command',
      { command: ['serve'], lifecycle: { postStart: { sleep: { seconds: 1 } } } },
      { command: [PROGRAM, 'run', '--', 'serve'], lifecycle: { postStart: { sleep: { seconds: 1 } } } },
    ],
  ])('%s', (_, given, wanted) => {
    expect(first(injected(given))).toMatchObject(wanted);
  });

  it('gets either a wrapper or a hook', () => {
    expect(lifecycle(injected({ command: ['sleep'] }))).toBeUndefined();
    expect(first(injected({})).command).toBeUndefined();
  });

  it.each<[string, EnvVar[]]>([
    ['a start command', [{ name: 'SANDLOT_START_COMMAND', value: 'serve' }]],
    ['a ready command', [{ name: 'SANDLOT_READY_COMMAND', value: 'test -e /up' }]],
    ['a command from a reference', [{ name: 'SANDLOT_START_COMMAND', valueFrom: {} }]],
  ])('waits at its start for %s, without an end by which the kubelet would restart it', (_, env) => {
    expect(first(injected({ env }))['startupProbe']).toEqual({
      exec: { command: [PROGRAM, 'ready'] },
      periodSeconds: 1,
      timeoutSeconds: 30,
      failureThreshold: 2_147_483_647,
    });
  });

  it.each<[string, EnvVar[]]>([
    ['without commands', []],
    ['whose command is empty', [{ name: 'SANDLOT_START_COMMAND', value: '' }]],
  ])('has the startup probe of its template, %s', (_, env) => {
    const startupProbe = { exec: { command: ['true'] } };
    expect(first(injected({ env }))['startupProbe']).toBeUndefined();
    expect(first(injected({ env, startupProbe }))['startupProbe']).toEqual(startupProbe);
  });

  it.each<[string, Container['resources'], Container['resources']]>([
    [
      'little, where the container states nothing',
      undefined,
      { requests: { cpu: '10m', memory: '32Mi' }, limits: { memory: '64Mi' } },
    ],
    [
      'what the container states, so that the Pod keeps its quality-of-service class',
      { requests: { cpu: 1, memory: '1Gi' }, limits: { cpu: 1, memory: '1Gi' } },
      { requests: { cpu: 1, memory: '1Gi' }, limits: { cpu: 1, memory: '1Gi' } },
    ],
    ['no devices', { limits: { memory: '1Gi', 'nvidia.com/gpu': 1 } }, { limits: { memory: '1Gi' } }],
  ])('has an installer that takes %s', (_, resources, expected) => {
    expect(injected({ resources }).initContainers?.[0]?.resources).toEqual(expected);
  });

  it.each<[string, Partial<PodSpec>]>([
    ['a container', { containers: [{ name: 'main', ports: [{ containerPort: 49_983 }] }] }],
    ['a sidecar', { initContainers: [{ name: 'envd', restartPolicy: 'Always', ports: [{ containerPort: 49_983 }] }] }],
  ])('is left as it is when %s has the port of the daemon already', (_, more) => {
    const spec = injected({ name: 'main' }, more);
    expect(spec).toEqual({ containers: [{ name: 'main', image: 'busybox' }], ...more });
  });

  it('is not injected into a Sandbox that does not request it', () => {
    const sandbox = notebook({ spec: { runtime: { inject: false } } });
    expect(buildPod(sandbox, RUNTIME).spec).toEqual(notebook().spec.podTemplate.spec);
  });
});

describe('a daemon that cannot be started', () => {
  const asking = (container: Partial<Container>) =>
    notebook({
      spec: { podTemplate: { spec: { containers: [{ name: 'main', ...container }] } }, runtime: { inject: true } },
    });

  it('without an image keeps the Pod from being created, and says what to set', () => {
    const snapshot = buildSnapshot({
      sandbox: asking({}),
      settings: {
        runtime: { image: '', publicKey: '', gatewayKeys: [], delivery: 'InitContainer', records: 'memory' },
      },
    });
    expect(getStep(decidePod(snapshot), 'reportFailure').message).toContain('runtime.image');
  });

  it('without the key of the installation keeps the Pod from being created: it would obey its first caller', () => {
    const runtime = { ...RUNTIME, publicKey: '' };
    const snapshot = buildSnapshot({ sandbox: asking({}), settings: { runtime } });
    expect(getStep(decidePod(snapshot), 'reportFailure').message).toContain('needs the public key');
    const own = asking({ ports: [{ containerPort: 49_983 }] });
    expect(decidePod(buildSnapshot({ sandbox: own, settings: { runtime } }))).toMatchObject([{ kind: 'createPod' }]);
  });

  it('because the hook of a container runs no command names that container', () => {
    const snapshot = buildSnapshot({ sandbox: asking({ lifecycle: { postStart: { sleep: { seconds: 1 } } } }) });
    expect(getStep(decidePod(snapshot), 'reportFailure').message).toContain('container "main"');
  });

  it('because a startup probe of the template takes the place of that of its commands names the container', () => {
    const env = [{ name: 'SANDLOT_READY_COMMAND', value: 'test -e /up' }];
    const snapshot = buildSnapshot({ sandbox: asking({ env, startupProbe: { exec: { command: ['true'] } } }) });
    expect(getStep(decidePod(snapshot), 'reportFailure').message).toContain(
      'runtime.inject takes no startupProbe beside SANDLOT_START_COMMAND and SANDLOT_READY_COMMAND; container "main" has one',
    );
  });

  it.each<[string, EnvVar[], boolean]>([
    ['another one', [{ name: 'SANDLOT_EXEC_PORT', value: '9000' }], true],
    ['one from a reference', [{ name: 'SANDLOT_EXEC_PORT', valueFrom: {} }], true],
    ['the last of two', ['0', '9000'].map((value) => ({ name: 'SANDLOT_EXEC_PORT', value })), true],
    ['its own', [{ name: 'SANDLOT_EXEC_PORT', value: '8888' }], false],
    ['none', [{ name: 'SANDLOT_EXEC_PORT', value: '0' }], false],
  ])('on a port for the agent-sandbox API that is %s', (_, env, isRefused) => {
    const [step] = decidePod(buildSnapshot({ sandbox: asking({ env }) }));
    expect(step?.kind).toBe(isRefused ? 'reportFailure' : 'createPod');
    expect(JSON.stringify(step).includes('takes no SANDLOT_EXEC_PORT but 8888 and 0')).toBe(isRefused);
  });

  it.each<[string, EnvVar, boolean]>([
    ['other ones', { name: 'SANDLOT_SANDBOXD_PORTS', value: '80,90' }, true],
    ['the two in the other order', { name: 'SANDLOT_SANDBOXD_PORTS', value: '9090,8080' }, true],
    ['from a reference', { name: 'SANDLOT_SANDBOXD_PORTS', valueFrom: {} }, true],
    ['its own', { name: 'SANDLOT_SANDBOXD_PORTS', value: '8080,9090' }, false],
    ['none', { name: 'SANDLOT_SANDBOXD_PORTS', value: '0' }, false],
  ])('on ports for the dialect of sandboxd that are %s', (_, variable, isRefused) => {
    const [step] = decidePod(buildSnapshot({ sandbox: asking({ env: [variable] }) }));
    expect(step?.kind).toBe(isRefused ? 'reportFailure' : 'createPod');
    expect(JSON.stringify(step).includes('takes no SANDLOT_SANDBOXD_PORTS but 8080,9090 and 0')).toBe(isRefused);
  });
});

describe('where a daemon keeps its records', () => {
  const asking = (env: EnvVar[]) =>
    notebook({ spec: { podTemplate: { spec: { containers: [{ name: 'main', env }] } }, runtime: { inject: true } } });
  const readPlace = (env: EnvVar[], records: 'memory' | 'log') =>
    variables(buildPod(asking(env), { ...RUNTIME, records }).spec)['SANDLOT_RECORDS'];

  it('is what the installation says, unless the template does', () => {
    expect([readPlace([], 'memory'), readPlace([], 'log')]).toEqual(['memory', 'log']);
    expect(readPlace([{ name: 'SANDLOT_RECORDS', value: 'log' }], 'memory')).toBe('log');
    expect(readPlace([{ name: 'SANDLOT_RECORDS', value: 'memory' }], 'log')).toBe('memory');
  });

  it.each<EnvVar>([
    { name: 'SANDLOT_RECORDS', value: 'store' },
    { name: 'SANDLOT_RECORDS', value: '' },
    { name: 'SANDLOT_RECORDS', valueFrom: {} },
  ])('is nothing else: %j', (variable) => {
    const [step] = decidePod(buildSnapshot({ sandbox: asking([variable]) }));
    expect(JSON.stringify(step)).toContain('runtime.inject takes no SANDLOT_RECORDS but memory and log');
  });
});

describe('status.runtime', () => {
  const sandbox = notebook({ spec: { runtime: { inject: true } } });

  it('is ready together with the Pod, and not before', () => {
    const snapshot = buildSnapshot({ sandbox, ownedPods: [makePod(sandbox, { ready: false })] });
    expect(published(snapshot).status?.runtime).toBeUndefined();
    const ready = buildSnapshot({ sandbox, ownedPods: [makePod(sandbox)] });
    expect(published(ready).status?.runtime).toEqual({ ready: true });
    expect(kinds({ ...ready, sandbox: published(ready) })).toEqual([]);
  });

  it('is absent without a daemon', () => {
    const plain = notebook();
    expect(published(buildSnapshot({ sandbox: plain, ownedPods: [makePod(plain)] })).status?.runtime).toBeUndefined();
  });
});
