import { parseSandbox, parseSandboxClaim, parseSandboxTemplate, parseSandboxWarmPool } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { translateAll } from './translate.ts';
import type { Source } from './translate.ts';

const POD = { containers: [{ name: 'main', image: 'python:3.12' }] };

function kruise(
  kind: string,
  spec: object,
  more: { readonly metadata?: object; readonly status?: object } = {},
): Source {
  const metadata = { name: 'python', namespace: 'team-a', ...more.metadata };
  return { kind, object: { apiVersion: 'agents.kruise.io/v1alpha1', kind, metadata, spec, status: more.status } };
}

const parsers: Readonly<Record<string, (value: unknown) => unknown>> = {
  SandboxTemplate: parseSandboxTemplate,
  SandboxWarmPool: parseSandboxWarmPool,
  Sandbox: parseSandbox,
  SandboxClaim: parseSandboxClaim,
};

/** Translates, and checks each object against the schema of its kind. */
function run(...sources: readonly Source[]) {
  const translated = translateAll(sources);
  const objects = translated.flatMap((one) => one.objects) as { kind: string; metadata: object; spec: object }[];
  for (const object of objects) parsers[object.kind]?.(object);
  const notes = translated.flatMap((one) => one.notes).map(({ effect, field }) => `${effect} ${field}`);
  return { objects, notes, translated };
}

describe('a SandboxSet', () => {
  it('becomes a template and a pool of its name', () => {
    const { objects, notes } = run(kruise('SandboxSet', { replicas: 4, template: { spec: POD } }));
    expect(objects.map(({ kind, metadata }) => [kind, metadata])).toEqual([
      ['SandboxTemplate', { name: 'python', namespace: 'team-a' }],
      ['SandboxWarmPool', { name: 'python', namespace: 'team-a' }],
    ]);
    expect(objects[0]?.spec).toEqual({ podTemplate: { spec: POD } });
    expect(objects[1]?.spec).toEqual({ replicas: 4, sandboxTemplateRef: { name: 'python' } });
    expect(notes).toEqual([]);
  });

  it('of a SandboxTemplate becomes a pool alone', () => {
    const templateRef = { kind: 'SandboxTemplate', name: 'shared' };
    const { objects, notes } = run(kruise('SandboxSet', { replicas: 1, templateRef }));
    expect(objects).toMatchObject([{ kind: 'SandboxWarmPool', spec: { sandboxTemplateRef: { name: 'shared' } } }]);
    expect(notes).toEqual([]);
  });

  it('of a PodTemplate lacks its Pod, and says so', () => {
    expect(run(kruise('SandboxSet', { replicas: 1, templateRef: { name: 'pods' } })).notes).toEqual([
      'lost spec.templateRef',
    ]);
  });

  it.each([
    ['10%', 2, ['changed spec.scaleStrategy.maxUnavailable']],
    ['1%', 1, ['changed spec.scaleStrategy.maxUnavailable']],
    [5, 5, []],
  ])('starts at most %s members at a time: refill.maxInFlight %i', (maxUnavailable, maxInFlight, expected) => {
    const { objects, notes } = run(
      kruise('SandboxSet', { replicas: 20, template: { spec: POD }, scaleStrategy: { maxUnavailable } }),
    );
    expect(objects[1]?.spec).toMatchObject({ refill: { maxInFlight } });
    expect(notes).toEqual(expected);
  });

  it('keeps how many members may be missing in a rollout', () => {
    const updateStrategy = { maxUnavailable: '20%' };
    const { objects } = run(kruise('SandboxSet', { replicas: 2, template: { spec: POD }, updateStrategy }));
    const rollingUpdate = { maxUnavailable: '20%' };
    expect(objects[1]?.spec).toMatchObject({ updateStrategy: { type: 'RollingUpdate', rollingUpdate } });
  });

  it('with agent-runtime gets the daemon, and lets claims set variables', () => {
    const runtimes = [{ name: 'agent-runtime' }, { name: 'csi' }, { name: 'traffic-proxy' }];
    const { objects, notes } = run(kruise('SandboxSet', { replicas: 1, template: { spec: POD }, runtimes }));
    expect(objects[0]?.spec).toMatchObject({
      runtime: { inject: true },
      envVarsInjectionPolicy: 'Overrides',
      dynamicVolumesPolicy: 'Allowed',
    });
    expect(notes).toEqual(['lost spec.runtimes']);
  });

  it('names each field that has no counterpart', () => {
    const spec = {
      replicas: 1,
      template: { spec: POD },
      probes: [{ name: 'idle' }],
      autoPausePolicy: { pause: {} },
      newer: 1,
    };
    const lost = ['lost spec.probes', 'lost spec.autoPausePolicy', 'lost spec.newer'];
    expect(run(kruise('SandboxSet', spec)).notes).toEqual(lost);
  });

  it('keeps labels and annotations of its author, and none of a controller', () => {
    const labels = { team: 'a', 'agents.kruise.io/template-hash': 'x' };
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}', 'sandlot.dev/forged': 'x' };
    const set = kruise('SandboxSet', { replicas: 1, template: { spec: POD } }, { metadata: { labels, annotations } });
    expect(run(set).objects[0]?.metadata).toEqual({ name: 'python', namespace: 'team-a', labels: { team: 'a' } });
  });
});

describe('pausing', () => {
  const hibernates = { type: 'Hibernate' };

  it.each<[string, object, { strategy?: object; notes: string[] }]>([
    ['nothing', {}, { notes: [] }],
    [
      'memory',
      { persistentContents: ['memory', 'filesystem'] },
      { strategy: hibernates, notes: ['check spec.persistentContents'] },
    ],
    [
      'files',
      { persistentContents: ['filesystem'] },
      { strategy: { ...hibernates, hibernate: { contents: 'Files' } }, notes: ['check spec.persistentContents'] },
    ],
    ['no address', { persistentContents: ['ip'] }, { notes: ['lost spec.persistentContents'] }],
    [
      'what Hibernate keeps',
      { pauseStrategy: { type: 'Hibernate' } },
      { strategy: hibernates, notes: ['check spec.pauseStrategy'] },
    ],
    ['nothing with Stop', { pauseStrategy: { type: 'Stop' }, persistentContents: ['memory'] }, { notes: [] }],
  ])('keeps %s', (_, how, expected) => {
    const { objects, notes } = run(kruise('SandboxSet', { replicas: 1, template: { spec: POD }, ...how }));
    const { suspensionStrategy } = objects[0]?.spec as { suspensionStrategy?: object };
    expect({ strategy: suspensionStrategy, notes }).toEqual({ strategy: undefined, ...expected });
  });
});

describe('a Sandbox', () => {
  const NEW_POD = 'lost metadata';

  it('keeps its mode and its end', () => {
    const spec = { template: { spec: POD }, paused: true, shutdownTime: '2027-01-01T00:00:00Z' };
    const { objects, notes } = run(kruise('Sandbox', spec));
    expect(objects[0]?.spec).toMatchObject({
      operatingMode: 'Suspended',
      shutdownTime: '2027-01-01T00:00:00Z',
      shutdownPolicy: 'Delete',
    });
    expect(notes).toEqual([NEW_POD]);
  });

  it('has the Pod and the disks of the template that it names', () => {
    const volumeClaimTemplates = [{ metadata: { name: 'work' }, spec: { accessModes: ['ReadWriteOnce'] } }];
    const template = kruise('SandboxTemplate', { template: { spec: POD }, volumeClaimTemplates });
    const sandbox = kruise('Sandbox', { templateRef: { kind: 'SandboxTemplate', name: 'python' } });
    expect(run(sandbox, template).objects[1]).toMatchObject({
      kind: 'Sandbox',
      spec: { podTemplate: { spec: POD }, volumeClaimTemplates },
    });
  });

  it('says which disk it takes over', () => {
    const volumeClaimTemplates = [{ metadata: { name: 'work' }, spec: {} }];
    const { translated } = run(kruise('Sandbox', { template: { spec: POD }, volumeClaimTemplates, pauseTime: 'x' }));
    const [notes = []] = translated.map((one) => one.notes);
    expect(notes.map(({ text }) => text).join('\n')).toContain('PersistentVolumeClaim work-python with the label');
    expect(notes.map(({ field }) => field)).toContain('spec.pauseTime');
  });

  it.each([
    ['that waits in a set is left out', {}, 0],
    ['that was claimed from a set is translated', { 'agents.kruise.io/sandbox-claimed': 'true' }, 1],
  ])('%s', (_, labels, count) => {
    const metadata = { labels, ownerReferences: [{ kind: 'SandboxSet', name: 'python' }] };
    expect(run(kruise('Sandbox', { template: { spec: POD } }, { metadata })).objects).toHaveLength(count);
  });
});

describe('a SandboxClaim', () => {
  it('keeps everything that has a counterpart', () => {
    const { objects, notes } = run(
      kruise('SandboxClaim', {
        templateName: 'python',
        replicas: 3,
        shutdownTime: '2027-01-01T00:00:00Z',
        claimTimeout: '30s',
        ttlAfterCompleted: '5m',
        annotations: { note: 'x' },
        envVars: { A: '1' },
        inplaceUpdate: { image: 'python:3.13', resources: { requests: { cpu: '1', memory: '1Gi' } } },
        dynamicVolumesMount: [{ pvName: 'data', mountPath: '/data', readOnly: true }],
        reserveFailedSandbox: true,
        createOnNoStock: false,
        waitReadyTimeout: '10s',
      }),
    );
    expect(objects[0]?.spec).toEqual({
      warmPoolRef: { name: 'python' },
      replicas: 3,
      lifecycle: { shutdownTime: '2027-01-01T00:00:00Z', shutdownPolicy: 'Delete' },
      claimTimeout: '30s',
      ttlSecondsAfterCompleted: 300,
      additionalPodMetadata: { annotations: { note: 'x' } },
      envs: [{ name: 'A', value: '1' }],
      inplaceUpdate: { image: 'python:3.13' },
      dynamicVolumes: [{ persistentVolumeName: 'data', mountPath: '/data', readOnly: true }],
      reserveFailedSandbox: true,
      createOnNoStock: false,
      waitReadyTimeout: '10s',
    });
    expect(notes).toEqual(['check spec.inplaceUpdate', 'lost spec.inplaceUpdate', 'check spec.dynamicVolumesMount']);
  });

  it.each([
    ['only CPU', { resources: { requests: { cpu: 1 }, limits: { cpu: '2' } } }, 'check spec.inplaceUpdate'],
    ['CPU and an image', { image: 'a', resources: { limits: { cpu: '2' } } }, 'check spec.inplaceUpdate'],
  ])('that changes %s in place keeps it', (_, inplaceUpdate, note) => {
    const { objects, notes } = run(kruise('SandboxClaim', { templateName: 'python', inplaceUpdate }));
    expect(objects[0]?.spec).toEqual({ warmPoolRef: { name: 'python' }, inplaceUpdate });
    expect(new Set(notes)).toEqual(new Set([note]));
  });

  it.each([
    ['memory', { resources: { limits: { memory: '2Gi', cpu: 1 } } }, ['lost spec.inplaceUpdate']],
    ['nothing', { resources: { limits: {} } }, []],
    ['what Sandlot does not know', { fieldOfLater: true }, ['lost spec.inplaceUpdate']],
  ])('that changes %s in place is translated without that', (_, inplaceUpdate, wanted) => {
    const { objects, notes } = run(kruise('SandboxClaim', { templateName: 'python', inplaceUpdate }));
    expect(objects[0]?.spec).toEqual({ warmPoolRef: { name: 'python' } });
    expect(notes).toEqual(wanted);
  });

  it('that is complete is left out', () => {
    const { objects, notes } = run(
      kruise('SandboxClaim', { templateName: 'python' }, { status: { phase: 'Completed' } }),
    );
    expect([objects, notes]).toEqual([[], ['changed status.phase']]);
  });
});

describe('an object', () => {
  it.each([
    ['of a kind without counterpart', kruise('TrafficPolicy', {}), 'lost kind'],
    ['that is not valid', kruise('SandboxSet', { replicas: 'many' }), 'lost object'],
  ])('%s is reported and left out', (_, source, note) => {
    const { objects, notes } = run(source);
    expect([objects, notes]).toEqual([[], [note]]);
  });
});
