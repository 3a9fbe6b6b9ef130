import { nameHash } from '@sandlot/api-types';
import type { Container, Service } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { wantsService } from './authorship.ts';
import { decideService } from './decide-service.ts';
import { listServicePorts } from './service-ports.ts';
import { STRANGER, notebook, makePod, buildService, buildSnapshot, getStep } from '../../test/builders.ts';

const wanting = notebook({ spec: { service: true } });
const tracking = { 'agents.x-k8s.io/sandbox-name-hash': nameHash('notebook') };

const port = (name: string, number: number, protocol = 'TCP') => ({ name, port: number, targetPort: number, protocol });

describe('the Service', () => {
  it('is headless, selects the Pod by its tracking label and belongs to the Sandbox', () => {
    expect(getStep(decideService(buildSnapshot({ sandbox: wanting })), 'createService').service).toEqual({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'notebook',
        namespace: 'team-a',
        labels: tracking,
        ownerReferences: [
          {
            apiVersion: 'agents.x-k8s.io/v1beta1',
            kind: 'Sandbox',
            name: 'notebook',
            uid: 'uid-team-a-notebook',
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: { clusterIP: 'None', selector: tracking },
    });
  });

  const unwanted = notebook({ spec: { service: false } });
  const unset = notebook();
  const adoptable = { labels: { 'agents.x-k8s.io/adoptable': 'true' }, ownerReferences: [] };
  const foreign = buildService(wanting, { metadata: { ownerReferences: [STRANGER] } });
  const rows: readonly (readonly [string, Parameters<typeof buildSnapshot>[0], readonly string[]])[] = [
    ['is created when wanted', { sandbox: wanting }, ['createService']],
    ['is not created when unset', { sandbox: unset }, []],
    ['is created when unset means always', { sandbox: unset, settings: { unsetService: 'Always' } }, ['createService']],
    ['is kept when unset and owned', { sandbox: unset, service: buildService(unset) }, []],
    [
      'is deleted for service: false when owned',
      { sandbox: unwanted, service: buildService(unwanted) },
      ['deleteService'],
    ],
    ['of another owner is not deleted', { sandbox: unwanted, service: foreign }, []],
    ['of another owner is reported when one is wanted', { sandbox: wanting, service: foreign }, ['reportFailure']],
    ['of another owner is ignored when none is wanted', { sandbox: unset, service: foreign }, []],
    [
      'that is adoptable is taken over',
      { sandbox: wanting, service: buildService(wanting, { metadata: adoptable }) },
      ['patchService'],
    ],
    [
      'that is adoptable is left alone when none is wanted',
      { sandbox: unset, service: buildService(unset, { metadata: adoptable }) },
      [],
    ],
    [
      'with an address cannot be taken over',
      { sandbox: wanting, service: buildService(wanting, { metadata: adoptable, spec: { clusterIP: '10.1.0.1' } }) },
      ['reportFailure'],
    ],
    [
      'that is being deleted is waited for',
      { sandbox: wanting, service: buildService(wanting, { metadata: { deletionTimestamp: '2026-01-01T12:00:00Z' } }) },
      [],
    ],
    [
      'is left alone while two Pods compete',
      { sandbox: wanting, ownedPods: [makePod(wanting), makePod(wanting, { name: 'other' })] },
      [],
    ],
    [
      'gets its selector back',
      { sandbox: unset, service: buildService(unset, { spec: { clusterIP: 'None', selector: { app: 'x' } } }) },
      ['patchService'],
    ],
    [
      'gets its label back',
      { sandbox: unset, service: buildService(unset, { metadata: { labels: {} } }) },
      ['patchService'],
    ],
    ['keeps ports of its own when unset', { sandbox: unset, service: withPort(buildService(unset)) }, []],
    [
      'loses ports that no container declares when wanted',
      { sandbox: wanting, service: withPort(buildService(wanting)) },
      ['patchService'],
    ],
  ];

  it.each(rows)('%s', (_, parts, steps) => {
    expect(decideService(buildSnapshot(parts)).map((step) => step.kind)).toEqual(steps);
  });

  it('with the right ports is left alone, defaults of the API server included', () => {
    const ports = [
      { containerPort: 80, name: 'web' },
      { containerPort: 53, protocol: 'UDP' },
    ];
    const podTemplate = { spec: { containers: [{ name: 'main', ports }] } };
    const sandbox = notebook({ spec: { service: true, podTemplate } });
    const shown = [
      { name: 'p-53-udp', port: 53, targetPort: 53, protocol: 'UDP' },
      { name: 'web', port: 80 },
    ];
    const service = buildService(sandbox);
    const withPorts = { ...service, spec: { ...service.spec, ports: shown } };
    expect(decideService(buildSnapshot({ sandbox, service: withPorts }))).toEqual([]);
    const drifted = { ...service, spec: { ...service.spec, ports: [...shown].reverse() } };
    const { patch } = getStep(decideService(buildSnapshot({ sandbox, service: drifted })), 'patchService');
    expect(patch['spec']).toEqual({ ports: [port('p-53-udp', 53, 'UDP'), port('web', 80)] });
  });

  it('that never had a selector keeps the first of its address families', () => {
    const spec = { clusterIP: 'None', ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv6', 'IPv4'] };
    const snapshot = buildSnapshot({ sandbox: wanting, service: buildService(wanting, { spec }) });
    const { patch } = getStep(decideService(snapshot), 'patchService');
    expect(patch['spec']).toEqual({
      selector: tracking,
      ipFamilyPolicy: 'SingleStack',
      ipFamilies: ['IPv6'],
    });
  });

  it('loses selectors that the controller did not set', () => {
    const service = buildService(wanting, { spec: { clusterIP: 'None', selector: { app: 'x' } } });
    const { patch } = getStep(decideService(buildSnapshot({ sandbox: wanting, service })), 'patchService');
    expect(patch['spec']).toEqual({ selector: { app: null, ...tracking } });
  });

  it.each([
    [foreign, 'service "notebook" is owned by ReplicaSet/web (UID: uid-web), not by sandbox "notebook"'],
    [
      buildService(wanting, { metadata: { ownerReferences: [], labels: {} } }),
      'cannot adopt unowned service "notebook": missing required pool authorization label ' +
        '("agents.x-k8s.io/adoptable") or sandbox tracking label ("agents.x-k8s.io/sandbox-name-hash")',
    ],
  ])('is reported with the documented messages (%#)', (service, message) => {
    expect(getStep(decideService(buildSnapshot({ sandbox: wanting, service })), 'reportFailure').message).toBe(message);
  });
});

function withPort(service: Service): Service {
  return { ...service, spec: { ...service.spec, ports: [{ name: 'extra', port: 9, protocol: 'TCP', targetPort: 9 }] } };
}

describe('Service ports', () => {
  const container = (ports: NonNullable<Container['ports']>): Container => ({ name: 'c', ports });

  it.each([
    ['are none without declared ports', [container([])], []],
    ['default to TCP and get a generated name', [container([{ containerPort: 80 }])], [port('p-80-tcp', 80)]],
    ['skip port 0', [container([{ containerPort: 0, name: 'zero' }])], []],
    [
      'are sorted by number, then protocol',
      [container([{ containerPort: 90 }, { containerPort: 53, protocol: 'UDP' }, { containerPort: 53 }])],
      [port('p-53-tcp', 53), port('p-53-udp', 53, 'UDP'), port('p-90-tcp', 90)],
    ],
    [
      'appear once per number and protocol, under the first explicit name',
      [
        container([{ containerPort: 80 }, { containerPort: 80, name: 'web' }]),
        container([{ containerPort: 80, name: 'late' }]),
      ],
      [port('web', 80)],
    ],
    [
      'give a reused name to the first port only',
      [
        container([
          { containerPort: 81, name: 'web' },
          { containerPort: 80, name: 'web' },
        ]),
      ],
      [port('p-80-tcp', 80), port('web', 81)],
    ],
    [
      'number a generated name that is taken',
      [
        container([
          { containerPort: 80 },
          { containerPort: 81, name: 'p-80-tcp' },
          { containerPort: 82, name: 'p-80-tcp-2' },
        ]),
      ],
      [port('p-80-tcp-3', 80), port('p-80-tcp', 81), port('p-80-tcp-2', 82)],
    ],
  ])('%s', (_, containers, expected) => {
    expect(listServicePorts({ containers })).toEqual(expected);
  });

  it('include those of sidecars but not of other init containers', () => {
    const sidecar = { ...container([{ containerPort: 15_000 }]), restartPolicy: 'Always' };
    const setup = container([{ containerPort: 1 }]);
    expect(listServicePorts({ containers: [], initContainers: [setup, sidecar] })).toEqual([
      port('p-15000-tcp', 15_000),
    ]);
  });
});

describe('an unset service', () => {
  const entry = (parts: object) => ({
    manager: 'kubectl',
    apiVersion: 'agents.x-k8s.io/v1alpha1',
    fieldsV1: { 'f:spec': { 'f:podTemplate': {} } },
    ...parts,
  });
  const controlled = { ownerReferences: [STRANGER] };
  it.each([
    ['counts as true for an author who used v1alpha1', { managedFields: [entry({})] }, 'V1Alpha1', true],
    [
      'does not for one who used v1beta1',
      { managedFields: [entry({ apiVersion: 'agents.x-k8s.io/v1beta1' })] },
      'V1Alpha1',
      false,
    ],
    [
      'does not when v1alpha1 wrote only the status',
      { managedFields: [entry({ subresource: 'status' })] },
      'V1Alpha1',
      false,
    ],
    [
      'does not when v1alpha1 wrote other fields',
      { managedFields: [entry({ fieldsV1: { 'f:spec': { 'f:replicas': {} } } })] },
      'V1Alpha1',
      false,
    ],
    ['does not for a Sandbox of a controller', { managedFields: [entry({})], ...controlled }, 'V1Alpha1', false],
    ['counts as false where the installation says Never', { managedFields: [entry({})] }, 'Never', false],
    ['counts as true where the installation says Always', controlled, 'Always', true],
  ] as const)('%s', (...[, metadata, unset, expected]) => {
    expect(wantsService(notebook({ metadata: structuredClone(metadata) as object }), unset)).toBe(expected);
  });
});
