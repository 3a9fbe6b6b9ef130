import type { SandboxClaimSpec, SandboxTemplateSpec } from '@sandlot/api-types';
import { claim, template } from '@sandlot/api-types/testing';
import type { PersistentVolume } from '@sandlot/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findDynamicVolumesRefusal } from './dynamic-volumes-refusal.ts';
import { mountDynamicVolumes } from './mount-volumes.ts';
import type { VolumeBase } from './mount-volumes.ts';
import { findPersistentVolumeProblem } from './persistent-volume-problem.ts';
import type { ReadVolumes } from './snapshot-volumes.ts';
import { listMissingVolumes } from './volume-sources.ts';

type Volumes = NonNullable<SandboxClaimSpec['dynamicVolumes']>;

const DISK = { mountPath: '/data', persistentVolumeClaimName: 'set' };
const FOREIGN = { mountPath: '/data', persistentVolumeName: 'pv' };
const VOLUME = {
  mountPath: '/data',
  persistentVolumeClaimName: 'sandlot-volumes',
  subPath: '11111111-2222-4333-8444-555555555555',
};
const NONE: ReadVolumes = new Map();

const wanting = (dynamicVolumes: Volumes, spec: Partial<SandboxClaimSpec> = {}): ReturnType<typeof claim> =>
  claim({ spec: { ...spec, dynamicVolumes } });

const base = (parts: Partial<VolumeBase['podSpec']> = {}): VolumeBase => ({
  podSpec: {
    containers: [
      { name: 'main', image: 'busybox', volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }] },
      { name: 'side', image: 'busybox' },
    ],
    ...parts,
  },
  volumeClaimTemplates: [{ metadata: { name: 'scratch' }, spec: {} }],
});

interface Case {
  readonly volumes?: Volumes;
  readonly claimSpec?: Partial<SandboxClaimSpec>;
  readonly templateSpec?: Partial<SandboxTemplateSpec>;
  readonly podSpec?: Partial<VolumeBase['podSpec']>;
  readonly off?: boolean;
}

function refusal({ volumes = [DISK], claimSpec, templateSpec = {}, podSpec, off = false }: Case): string | undefined {
  return findDynamicVolumesRefusal({
    claim: wanting(volumes, claimSpec),
    template: template({ spec: { dynamicVolumesPolicy: 'Allowed', ...templateSpec } }),
    base: base(podSpec),
    allowsPersistentVolumes: !off,
  });
}

describe('dynamicVolumes of a claim', () => {
  it.each<readonly [string, Case]>([
    ['may be absent under every policy', { volumes: [], templateSpec: { dynamicVolumesPolicy: 'Disallowed' } }],
    ['are served when the template allows them', {}],
    [
      'may be a volume of the E2B API under no policy',
      { volumes: [VOLUME], templateSpec: { dynamicVolumesPolicy: undefined } },
    ],
    ['may name a PersistentVolume when the installation allows that', { volumes: [FOREIGN] }],
    ['are shared by all Sandboxes of a batch', { claimSpec: { replicas: 3 } }],
    [
      'may mount two parts of one disk',
      {
        volumes: [
          { ...DISK, subPath: 'a' },
          { ...DISK, mountPath: '/b', subPath: 'b' },
        ],
      },
    ],
    ['may lie within another mount', { volumes: [{ ...DISK, mountPath: '/scratch/data' }] }],
    [
      'may lie where another container has a mount',
      {
        podSpec: {
          containers: [{ name: 'main' }, { name: 'side', volumeMounts: [{ name: 'scratch', mountPath: '/data' }] }],
        },
      },
    ],
    ['may use the folder of the daemon when there is no daemon', { volumes: [{ ...DISK, mountPath: '/.sandlot' }] }],
  ])('%s', (_, row) => expect(refusal(row)).toBeUndefined());

  it.each<readonly [string, Case, string]>([
    [
      'by a template without a policy',
      { templateSpec: { dynamicVolumesPolicy: undefined } },
      'set its dynamicVolumesPolicy to Allowed',
    ],
    [
      'by a template that disallows them',
      { templateSpec: { dynamicVolumesPolicy: 'Disallowed' } },
      'SandboxTemplate "template"',
    ],
    [
      'by a template that disallows volumes of the E2B API',
      { volumes: [VOLUME], templateSpec: { dynamicVolumesPolicy: 'Disallowed' } },
      "template 'template' does not allow volumes",
    ],
    [
      'beside a volume of the E2B API by a template without a policy',
      { volumes: [VOLUME, { ...DISK, mountPath: '/b' }], templateSpec: { dynamicVolumesPolicy: undefined } },
      'set its dynamicVolumesPolicy to Allowed',
    ],
    ...[undefined, '', '..', '.uploads', `${VOLUME.subPath}/..`, `${VOLUME.subPath}/a`].map(
      (subPath): readonly [string, Case, string] => [
        `of the disk with all volumes, by the subPath ${subPath ?? 'that is absent'}`,
        { volumes: [{ ...VOLUME, subPath }] },
        'name the id of a volume in subPath',
      ],
    ),
    ['when the claim rules out a cold start', { claimSpec: { createOnNoStock: false } }, 'need a cold start'],
    [
      'from PersistentVolumes when the installation switches them off',
      { volumes: [FOREIGN], off: true },
      'claimController.persistentVolumes=true',
    ],
    [
      'from a PersistentVolume for several Sandboxes',
      { volumes: [FOREIGN], claimSpec: { replicas: 2 } },
      'the claim asks for 2',
    ],
    [
      'at a path of the template',
      { volumes: [{ ...DISK, mountPath: '/scratch' }] },
      '"/scratch" is taken by scratch in container "main"',
    ],
    ['at another spelling of that path', { volumes: [{ ...DISK, mountPath: '//scratch/./' }] }, 'is taken by scratch'],
    [
      'at one path twice',
      { volumes: [DISK, { ...DISK, mountPath: '/data/' }] },
      'is taken by another of dynamicVolumes',
    ],
    ['over the whole image', { volumes: [{ ...DISK, mountPath: '/./' }] }, 'would hide the whole image'],
    ['at a path with a colon', { volumes: [{ ...DISK, mountPath: '/a:b' }] }, 'neither ":" nor ".."'],
    ['at a path that steps up', { volumes: [{ ...DISK, mountPath: '/a/../b' }] }, 'neither ":" nor ".."'],
    [
      'over the folder of the daemon',
      { volumes: [{ ...DISK, mountPath: '/.sandlot/bin' }], templateSpec: { runtime: { inject: true } } },
      'belongs to the daemon',
    ],
    ['with a subPath from the root', { volumes: [{ ...DISK, subPath: '/a' }] }, 'must be a relative path'],
    ['with a subPath that steps up', { volumes: [{ ...DISK, subPath: 'a/../..' }] }, 'must be a relative path'],
    [
      'whose name the template uses',
      { podSpec: { volumes: [{ name: 'dynamic-0', emptyDir: {} }] } },
      'volume name "dynamic-0" is taken',
    ],
  ])('are refused %s', (_, row, words) => expect(refusal(row)).toContain(words));
});

const persistent = (spec: PersistentVolume['spec'] = {}, phase = 'Available', open = 'default'): PersistentVolume => ({
  metadata: { name: 'pv', labels: { 'sandlot.dev/claimable-by': open } },
  spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '5Gi' }, ...spec },
  status: { phase },
});

describe('a PersistentVolume that a claim names', () => {
  const problem = (
    seen: PersistentVolume | 'absent' | 'forbidden',
    spec?: Partial<SandboxClaimSpec>,
  ): string | undefined => findPersistentVolumeProblem(wanting([FOREIGN], spec), new Map([['pv', seen]]));

  it.each<readonly [string, PersistentVolume, Partial<SandboxClaimSpec>]>([
    ['may be bound when it is open to the namespace', persistent(), {}],
    [
      'may be bound when it is reserved for the disk of the Sandbox',
      persistent({ claimRef: { namespace: 'default', name: 'dynamic-0-claim' } }, 'Bound'),
      {},
    ],
    [
      'may be bound by the one Sandbox of a detached claim',
      persistent({ claimRef: { namespace: 'default', name: 'dynamic-0-claim-0' } }),
      { ttlSecondsAfterCompleted: 1 },
    ],
  ])('%s', (_, seen, spec) => expect(problem(seen, spec)).toBeUndefined());

  it.each<readonly [string, PersistentVolume | 'absent' | 'forbidden', string]>([
    ['does not exist', 'absent', 'label it sandlot.dev/claimable-by=default'],
    ['is open to another namespace', persistent({}, 'Available', 'other'), 'label it sandlot.dev/claimable-by=default'],
    ['may not be read by the controller', 'forbidden', 'grant it get'],
    ['is a block device', persistent({ volumeMode: 'Block' }), 'a block device'],
    [
      'was released by another disk',
      persistent({ claimRef: { namespace: 'default', name: 'dynamic-0-claim' } }, 'Released'),
      'remove its spec.claimRef',
    ],
    [
      'is bound by a disk of the namespace',
      persistent({ claimRef: { namespace: 'default', name: 'x' } }, 'Bound'),
      'bound by another',
    ],
    [
      'is bound by the like-named disk of another namespace',
      persistent({ claimRef: { namespace: 'b', name: 'dynamic-0-claim' } }),
      'bound by another',
    ],
  ])('may not be bound when it %s, and the message says what to do', (_, seen, words) =>
    expect(problem(seen)).toContain(words),
  );

  it('gives the same message when it is absent and when it is not open, so that claims cannot spy', () => {
    expect(problem('absent')).toBe(problem(persistent({}, 'Available', 'other')));
  });

  it('does not concern claims that name PersistentVolumeClaims', () => {
    expect(findPersistentVolumeProblem(wanting([DISK]), NONE)).toBeUndefined();
  });
});

describe('a volume that the Pod has already', () => {
  const volumes = [
    { name: 'own', persistentVolumeClaim: { claimName: 'set' } },
    { name: 'tmp', emptyDir: {} },
  ];
  const mount = { name: 'own', mountPath: '/data', subPath: 'a' };
  const missing = (wanted: Partial<typeof DISK> & { subPath?: string; readOnly?: boolean }, more: object = {}) =>
    listMissingVolumes(wanting([{ ...DISK, subPath: 'a', ...wanted }]), {
      containers: [{ name: 'main', image: 'x', volumeMounts: [{ ...mount, ...more }] }],
      volumes,
    }).length;

  it('is not missing, however its path is written', () => {
    expect([missing({}), missing({ mountPath: '/data/' }), missing({ readOnly: false })]).toEqual([0, 0, 0]);
    expect(missing({ readOnly: true }, { readOnly: true })).toBe(0);
  });

  it.each<readonly [string, Parameters<typeof missing>[0], object]>([
    ['at another path', { mountPath: '/other' }, {}],
    ['of another disk', { persistentVolumeClaimName: 'other' }, {}],
    ['of another folder', { subPath: 'b' }, {}],
    ['of the whole disk', { subPath: '' }, {}],
    ['to read, while the Pod may write', { readOnly: true }, {}],
    ['to write, while the Pod may read', {}, { readOnly: true }],
    ['of a folder that a variable names', {}, { subPath: undefined, subPathExpr: 'a' }],
    ['where the Pod has another volume', {}, { name: 'tmp' }],
  ])('is missing when the claim wants it %s', (_, wanted, more) => {
    expect(missing(wanted, more)).toBe(1);
  });

  it('in another container is missing: claims mount in the first', () => {
    const containers = [
      { name: 'main', image: 'x' },
      { name: 'side', image: 'x', volumeMounts: [mount] },
    ];
    expect(listMissingVolumes(wanting([{ ...DISK, subPath: 'a' }]), { containers, volumes })).toHaveLength(1);
  });

  it('needs no policy of the template', () => {
    const containers = [{ name: 'main', image: 'x', volumeMounts: [mount] }];
    const given = { volumes: [{ ...DISK, subPath: 'a' }], podSpec: { containers, volumes } };
    expect(refusal({ ...given, templateSpec: { dynamicVolumesPolicy: 'Disallowed' } })).toBeUndefined();
  });
});

describe('a cold start with dynamicVolumes', () => {
  it('lists each disk once, in the first container, for any number of mounts', () => {
    const volumes = [
      { ...DISK, mountPath: '/a', subPath: 'one', readOnly: true },
      { ...DISK, mountPath: '/b' },
      { mountPath: '/c', persistentVolumeClaimName: 'other' },
    ];
    const { podSpec, volumeClaimTemplates } = mountDynamicVolumes(wanting(volumes), base(), NONE);
    expect(podSpec.volumes).toEqual([
      { name: 'dynamic-0', persistentVolumeClaim: { claimName: 'set' } },
      { name: 'dynamic-1', persistentVolumeClaim: { claimName: 'other' } },
    ]);
    expect(podSpec.containers.map(({ volumeMounts }) => volumeMounts)).toEqual([
      [
        { name: 'scratch', mountPath: '/scratch' },
        { name: 'dynamic-0', mountPath: '/a', subPath: 'one', readOnly: true },
        { name: 'dynamic-0', mountPath: '/b' },
        { name: 'dynamic-1', mountPath: '/c' },
      ],
      undefined,
    ]);
    expect(volumeClaimTemplates).toEqual(base().volumeClaimTemplates);
  });

  it('reuses the volume of the template that has the disk already', () => {
    const volumes = [{ name: 'set', persistentVolumeClaim: { claimName: 'set' } }];
    const { podSpec } = mountDynamicVolumes(wanting([DISK]), base({ volumes }), NONE);
    expect(podSpec.volumes).toEqual(volumes);
    expect(podSpec.containers[0]?.volumeMounts).toContainEqual({ name: 'set', mountPath: '/data' });
  });

  it.each([
    ['of its class', { storageClassName: 'slow' }, 'slow'],
    ['of no class, whatever the default of the cluster', {}, ''],
  ])('binds a PersistentVolume %s by a template of the Sandbox', (_, spec, storageClassName) => {
    const { podSpec, volumeClaimTemplates } = mountDynamicVolumes(
      wanting([FOREIGN]),
      base(),
      new Map([['pv', persistent(spec)]]),
    );
    expect(podSpec.volumes).toBeUndefined();
    expect(podSpec.containers[0]?.volumeMounts).toContainEqual({ name: 'dynamic-0', mountPath: '/data' });
    const resources = { requests: { storage: '5Gi' } };
    const bound = { volumeName: 'pv', storageClassName, accessModes: ['ReadWriteOnce'], resources };
    expect(volumeClaimTemplates.slice(1)).toEqual([{ metadata: { name: 'dynamic-0' }, spec: bound }]);
  });
});

describe('whatever a claim asks for', () => {
  const path = fc.constantFrom('/', '/data', '/data/', '//data', '/a/b', '/scratch', '/.sandlot', '/a:b', '/x/../y');
  const name = fc.constantFrom('set', 'pv', 'other');
  const source = fc.oneof(
    name.map((persistentVolumeClaimName) => ({ persistentVolumeClaimName })),
    name.map((persistentVolumeName) => ({ persistentVolumeName })),
  );
  const volume = fc.tuple(path, source).map(([mountPath, of]) => ({ mountPath, ...of }));
  const present = fc.subarray([
    { name: 'own', persistentVolumeClaim: { claimName: 'set' } },
    { name: 'dynamic-1', emptyDir: {} },
  ]);

  it('is refused or becomes a pod in which every mount has one volume and its own path', () => {
    fc.assert(
      fc.property(fc.array(volume, { maxLength: 4 }), present, (volumes, ofTemplate) => {
        if (refusal({ volumes, podSpec: { volumes: ofTemplate } }) !== undefined) return;
        const seen = new Map(['set', 'pv', 'other'].map((pv) => [pv, persistent()]));
        const start = base({ volumes: ofTemplate });
        const { podSpec, volumeClaimTemplates } = mountDynamicVolumes(wanting(volumes), start, seen);
        const names = [
          ...(podSpec.volumes ?? []).map((of) => of.name),
          ...volumeClaimTemplates.map(({ metadata }) => metadata?.name ?? ''),
        ];
        const mounts = podSpec.containers[0]?.volumeMounts ?? [];
        expect(new Set(names).size).toBe(names.length);
        expect(mounts).toHaveLength(volumes.length + 1);
        expect(names).toEqual(expect.arrayContaining(mounts.map((mount) => mount.name)));
        const paths = mounts.map(({ mountPath }) => mountPath.replaceAll(/\/+/g, '/').replace(/(?<=.)\/$/, ''));
        expect(new Set(paths).size).toBe(paths.length);
      }),
    );
  });
});
