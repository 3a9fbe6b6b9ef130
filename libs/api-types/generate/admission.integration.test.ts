import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claim, pool, sandbox, template } from '../test/index.ts';
import type { SandboxClaimSpec, SandboxSpec, SandboxWarmPoolSpec } from '../src/index.ts';

const examples = join(import.meta.dirname, '../examples');
const crds = join(import.meta.dirname, '../../../charts/sandlot/files/crds');
let server: ControlPlane;

beforeAll(async () => {
  server = await startControlPlane({ crds: [crds] });
});
afterAll(() => server.stop());

interface Written {
  readonly metadata: { readonly name?: string | undefined };
  readonly spec: object;
}

/** The part of an object that a client writes, without the identity that the API server sets. */
function manifest(object: Written): string {
  return JSON.stringify({ ...object, metadata: { name: object.metadata.name } });
}

/** The API server's answer to a dry-run create. */
async function refusal(object: Written): Promise<string> {
  const { code, stderr } = await server.kubectl(['create', '--dry-run=server', '-f', '-'], manifest(object));
  return code === 0 ? '' : stderr;
}

async function created(object: Written): Promise<void> {
  const { code, stderr } = await server.kubectl(['create', '-f', '-'], manifest(object));
  expect({ code, stderr }).toMatchObject({ code: 0 });
}

/** The API server's answer to a dry-run merge patch of a spec. */
async function patchRefusal(resource: string, name: string, spec: object): Promise<string> {
  const patch = ['--type=merge', '-p', JSON.stringify({ spec }), '--dry-run=server'];
  const { code, stderr } = await server.kubectl(['patch', resource, name, ...patch]);
  return code === 0 ? '' : stderr;
}

const volumes = [{ metadata: { name: 'work' }, spec: { resources: { requests: { storage: '1Gi' } } } }];

describe('the examples', async () => {
  const files = await readdir(examples);
  const versions = 'custom-columns=NAME:.metadata.name,VERSION:.metadata.resourceVersion';
  it.each(files)('%s applies as written, and again without a change', async (file) => {
    const text = await readFile(join(examples, file), 'utf8');
    const first = await server.kubectl(['apply', '-f', '-'], text);
    expect(withoutDeprecations(first.stderr)).toBe('');
    const stored = await server.kubectl(['get', '-f', '-', '-o', versions], text);
    await server.kubectl(['apply', '-f', '-'], text);
    expect((await server.kubectl(['get', '-f', '-', '-o', versions], text)).stdout).toBe(stored.stdout);
    expect(stored.stdout).toMatch(/[0-9]/);
  });

  it.each(files)('%s applies server-side', async (file) => {
    const text = await readFile(join(examples, file), 'utf8');
    const { stderr } = await server.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], text);
    expect(withoutDeprecations(stderr)).toBe('');
  });
});

function withoutDeprecations(stderr: string): string {
  return stderr.replaceAll(/^Warning: .* is deprecated; use .*$\n?/gm, '');
}

describe('a Sandbox is refused', () => {
  const cases: [string, Partial<SandboxSpec>, string][] = [
    [
      'replicas with operatingMode',
      { replicas: 1, operatingMode: 'Running' },
      'replicas and operatingMode are mutually exclusive',
    ],
    [
      'two replicas',
      { replicas: 2 },
      'spec.replicas: Invalid value: 2: spec.replicas in body should be less than or equal to 1',
    ],
    ['an idle limit of four seconds', { idle: { suspendAfterSeconds: 4 } }, 'should be greater than or equal to 5'],
    [
      'deletion before suspension',
      { idle: { suspendAfterSeconds: 60, deleteAfterSeconds: 60 } },
      'idle.deleteAfterSeconds must be greater than idle.suspendAfterSeconds',
    ],
    [
      'a backoff above its maximum, a default',
      { podFailurePolicy: { backoffSeconds: 301 } },
      'backoffSeconds must not exceed maxBackoffSeconds',
    ],
    [
      'one port twice',
      {
        podTemplate: {
          spec: { containers: [{ name: 'a', ports: [{ containerPort: 80 }, { containerPort: 80, protocol: 'TCP' }] }] },
        },
      },
      'Duplicate value',
    ],
    [
      'an amount that is none',
      { podTemplate: { spec: { containers: [{ name: 'a', resources: { limits: { memory: 'much' } } }] } } },
      'limits.memory',
    ],
  ];
  it.each(cases)('for %s', async (_name, spec, text) => {
    expect(await refusal(sandbox({ spec }))).toContain(text);
  });

  it('for a Pod template without containers', async () => {
    const bare = { ...sandbox(), spec: { podTemplate: { spec: {} } } };
    expect(await refusal(bare)).toContain('spec.podTemplate.spec.containers: Required value');
  });

  it('for an unknown field, with strict field validation', async () => {
    const misspelt = { ...sandbox(), spec: { ...sandbox().spec, colour: 'red' } };
    expect(await refusal(misspelt)).toContain('unknown field "spec.colour"');
  });

  it('for a change of its volumes, an addition or a removal', async () => {
    await created(sandbox({ name: 'with-volume', spec: { volumeClaimTemplates: volumes } }));
    await created(sandbox({ name: 'without-volume' }));
    const larger = [{ metadata: { name: 'work' }, spec: { resources: { requests: { storage: '2Gi' } } } }];
    for (const [name, volumeClaimTemplates] of [
      ['with-volume', larger],
      ['with-volume', null],
      ['without-volume', volumes],
    ] as const) {
      expect(await patchRefusal('sandbox', name, { volumeClaimTemplates })).toContain(
        'volumeClaimTemplates is immutable',
      );
    }
    expect(await patchRefusal('sandbox', 'with-volume', { volumeClaimTemplates: volumes, ttlSeconds: 60 })).toBe('');
  });

  it('until one patch switches the spelling', async () => {
    await created(sandbox({ name: 'alpha-spelling', spec: { replicas: 1 } }));
    expect(await patchRefusal('sandbox', 'alpha-spelling', { operatingMode: 'Suspended' })).toContain(
      'mutually exclusive',
    );
    expect(await patchRefusal('sandbox', 'alpha-spelling', { replicas: null, operatingMode: 'Suspended' })).toBe('');
  });
});

describe('a SandboxTemplate is refused', () => {
  it('for a lifecycle that a Sandbox must not have either', async () => {
    const idle = { suspendAfterSeconds: 60, deleteAfterSeconds: 30 };
    expect(await refusal(template({ spec: { idle } }))).toContain('idle.deleteAfterSeconds must be greater');
  });

  it('for an image policy that allows nothing', async () => {
    expect(await refusal(template({ spec: { imageOverridePolicy: { allowedImages: [] } } }))).toContain(
      'allowedImages',
    );
  });

  it.each<[string, object, string]>([
    ['no ceiling', {}, 'spec.resourcesOverridePolicy.maxCPU'],
    ['a ceiling of nothing', { maxCPU: 0 }, 'maxCPU must be more than 0'],
    ['a ceiling of nothing in words', { maxCPU: '0m' }, 'maxCPU must be more than 0'],
    ['a ceiling that is no quantity', { maxCPU: 'all' }, 'maxCPU'],
    ['a floor above the ceiling', { maxCPU: '2', minCPU: '2001m' }, 'minCPU must not be above maxCPU'],
  ])('for a CPU policy with %s', async (_, policy, text) => {
    expect(await refusal({ ...template(), spec: { ...template().spec, resourcesOverridePolicy: policy } })).toContain(
      text,
    );
  });
});

describe('a SandboxWarmPool is refused', () => {
  const window = { name: 'night', cron: '0 22 * * *', durationSeconds: 3600 };
  const cases: [string, Partial<SandboxWarmPoolSpec>, string][] = [
    ['an empty reference', { sandboxTemplateRef: { name: '' } }, 'should be at least 1 chars long'],
    ['a negative size', { replicas: -1 }, 'should be greater than or equal to 0'],
    [
      'a rolling update that may do nothing',
      { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '0%' } } },
      'maxUnavailable and maxSurge must not both be zero',
    ],
    [
      'rolling update settings of another strategy',
      { updateStrategy: { type: 'Recreate', rollingUpdate: {} } },
      'rollingUpdate requires type RollingUpdate',
    ],
    [
      'a percentage that is none',
      { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 'half' } } },
      'maxSurge',
    ],
    ['a negative number', { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: -1 } } }, 'maxSurge'],
    ['a delay that is no duration', { refill: { delay: '5 minutes' } }, 'spec.refill.delay'],
    [
      'bounds the wrong way round',
      { autoscaling: { minReplicas: 5, maxReplicas: 2 } },
      'minReplicas must not exceed maxReplicas',
    ],
    ['a window that sets nothing', { schedules: [window] }, 'set either replicas or minReplicas/maxReplicas'],
    ['a window that sets both', { schedules: [{ ...window, replicas: 1, minReplicas: 1 }] }, 'set either replicas'],
    ['a window of six fields', { schedules: [{ ...window, replicas: 1, cron: '0 0 22 * * *' }] }, 'cron'],
    [
      'two windows of one name',
      {
        schedules: [
          { ...window, replicas: 1 },
          { ...window, replicas: 2 },
        ],
      },
      'Duplicate value',
    ],
  ];
  it.each(cases)('for %s', async (_name, spec, text) => {
    expect(await refusal(pool({ spec }))).toContain(text);
  });
});

describe('a SandboxClaim is refused', () => {
  const byTemplate = { sandboxTemplateRef: { name: 'template' } };
  const variable = { name: 'A', value: '1' };
  const secretKeyRef = { name: 'keys', key: 'token' };
  const volume = { mountPath: '/data', persistentVolumeClaimName: 'a' };
  const both = 'exactly one of warmPoolRef and sandboxTemplateRef must be set';
  const cases: [string, Partial<SandboxClaimSpec>, string][] = [
    ['both references', { ...byTemplate, warmPoolRef: { name: 'pool' } }, both],
    ['an empty pool name', { warmPoolRef: { name: '' } }, 'should be at least 1 chars long'],
    ['a choice of pool without a template', { warmpool: 'none' }, 'warmpool requires sandboxTemplateRef'],
    ['no replicas at all', { replicas: 0 }, 'should be greater than or equal to 1'],
    ['too many replicas', { replicas: 1001 }, 'should be less than or equal to 1000'],
    ['a timeout below a second', { claimTimeout: '999ms' }, 'claimTimeout must be at least 1s'],
    ['a wait below a second', { waitReadyTimeout: '0s' }, 'waitReadyTimeout must be at least 1s'],
    [
      'a reservation below a second',
      { reserveFailedSandbox: true, reserveFailedSandboxFor: '1ms' },
      'reserveFailedSandboxFor must be at least 1s',
    ],
    ...['Upper', '1st', 'a.b', 'end-', 'a'.repeat(64)].map(
      (sandboxName): [string, Partial<SandboxClaimSpec>, string] => [
        `the name ${sandboxName}`,
        { sandboxName },
        'spec.sandboxName',
      ],
    ),
    ['a name for a batch', { sandboxName: 'a', replicas: 2 }, 'sandboxName is for bound claims'],
    [
      'a name for a detached claim',
      { sandboxName: 'a', ttlSecondsAfterCompleted: 1 },
      'sandboxName is for bound claims',
    ],
    [
      'the time of a reservation without one',
      { reserveFailedSandboxFor: '10m' },
      'reserveFailedSandboxFor requires reserveFailedSandbox',
    ],
    ['a timeout that is no duration', { claimTimeout: '60' }, 'spec.claimTimeout'],
    [
      'variables for a runtime it skips',
      { skipInitRuntime: true, envs: [variable] },
      'skipInitRuntime excludes envs and dynamicVolumes',
    ],
    [
      'a batch with container variables',
      { replicas: 2, env: [variable] },
      'env and volumeClaimTemplates are not supported for batch claims; use envs',
    ],
    ['a variable without a value', { envs: [{ name: 'A' }] }, 'exactly one of value and valueFrom must be set'],
    [
      'a variable with two values',
      { envs: [{ ...variable, valueFrom: { secretKeyRef } }] },
      'exactly one of value and valueFrom must be set',
    ],
    ['a variable given twice', { envs: [variable, variable] }, 'Duplicate value'],
    ['an empty image', { inplaceUpdate: { image: '' } }, 'spec.inplaceUpdate.image'],
    ['a change of nothing', { inplaceUpdate: {} }, 'image or resources must be set'],
    ...['requests', 'limits'].flatMap((kind): [string, Partial<SandboxClaimSpec>, string][] => [
      ...['memory', 'ephemeral-storage', 'nvidia.com/gpu', 'CPU'].map(
        (name): [string, Partial<SandboxClaimSpec>, string] => [
          `${kind} of ${name}`,
          { inplaceUpdate: { resources: { [kind]: { cpu: 1, [name]: '1' } } } },
          'only cpu can be changed in place',
        ],
      ),
      ...[0, '0', '0m', '0.0'].map((cpu): [string, Partial<SandboxClaimSpec>, string] => [
        `${kind} of ${JSON.stringify(cpu)} CPU`,
        { inplaceUpdate: { resources: { [kind]: { cpu } } } },
        'cpu must be more than 0',
      ]),
      ...[-1, '-1', 'much', '1 ', '1GiB', '9'.repeat(33)].map((cpu): [string, Partial<SandboxClaimSpec>, string] => [
        `${kind} of ${JSON.stringify(cpu)} CPU`,
        { inplaceUpdate: { resources: { [kind]: { cpu } } } },
        `spec.inplaceUpdate.resources.${kind}.cpu`,
      ]),
      [`empty ${kind}`, { inplaceUpdate: { resources: { [kind]: {} } } }, 'cpu must be set in requests or limits'],
    ]),
    ['resources without CPU', { inplaceUpdate: { resources: {} } }, 'cpu must be set in requests or limits'],
    ['a relative mount path', { dynamicVolumes: [{ ...volume, mountPath: 'data' }] }, 'mountPath'],
    [
      'a volume from two sources',
      { dynamicVolumes: [{ ...volume, persistentVolumeName: 'b' }] },
      'exactly one of persistentVolumeClaimName and persistentVolumeName must be set',
    ],
  ];
  it.each(cases)('for %s', async (_name, spec, text) => {
    expect(await refusal({ ...claim(), spec: { warmPoolRef: { name: 'pool' }, ...spec } })).toContain(text);
  });

  it.each<[string, SandboxClaimSpec['inplaceUpdate']]>([
    ['an image', { image: 'busybox' }],
    ['CPU as a number', { resources: { limits: { cpu: 2 } } }],
    ['CPU as quantities', { image: 'busybox', resources: { requests: { cpu: '0.5' }, limits: { cpu: '1500m' } } }],
  ])('but not for a change in place of %s', async (_, inplaceUpdate) => {
    expect(await refusal({ ...claim(), spec: { warmPoolRef: { name: 'pool' }, inplaceUpdate } })).toBe('');
  });

  it('for neither reference', async () => {
    expect(await refusal({ ...claim(), spec: {} })).toContain(both);
  });

  it('for a change of its mode, but not for a new deadline', async () => {
    await created(claim({ name: 'batch', spec: { replicas: 3, ttlSecondsAfterCompleted: 60 } }));
    await created(claim({ name: 'single' }));
    for (const [name, spec, text] of [
      ['batch', { replicas: 4 }, 'replicas is immutable'],
      ['batch', { replicas: null }, 'replicas is immutable'],
      ['single', { replicas: 1 }, 'replicas is immutable'],
      ['batch', { ttlSecondsAfterCompleted: null }, 'ttlSecondsAfterCompleted cannot be added or removed'],
      ['single', { ttlSecondsAfterCompleted: 5 }, 'ttlSecondsAfterCompleted cannot be added or removed'],
      ['batch', { warmPoolRef: null, sandboxTemplateRef: { name: 'template' } }, ''],
      ['batch', { ttlSecondsAfterCompleted: 5 }, ''],
    ] as const) {
      const answer = await patchRefusal('sandboxclaim', name, spec);
      if (text === '') expect(answer).toBe('');
      else expect(answer).toContain(text);
    }
  });
});
