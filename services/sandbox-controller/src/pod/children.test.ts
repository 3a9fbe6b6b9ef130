import { nameHash } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { buildPod } from './build-pod.ts';
import { decidePod } from './decide-pod.ts';
import { buildPodMetadataPatch, buildWantedPodMetadata } from './pod-metadata.ts';
import { decideDisks } from '../disks/decide-disks.ts';
import { reducePod, reduceSandbox } from '../wiring/transform.ts';
import { RUNTIME, STRANGER, WORK, buildDisk, notebook, makePod, buildSnapshot, getStep } from '../../test/builders.ts';

const HASH = 'agents.x-k8s.io/sandbox-name-hash';
const tracking = { [HASH]: nameHash('notebook') };
const owner = makePod(notebook()).metadata.ownerReferences;
const claimed = {
  apiVersion: 'extensions.agents.x-k8s.io/v1alpha1',
  kind: 'SandboxClaim',
  name: 'c',
  uid: 'uid-c',
  controller: true,
};

describe('the Pod', () => {
  it('is the template verbatim under the name of the Sandbox, with its volumes last', () => {
    const containers = [{ name: 'main', image: 'busybox' }];
    const sandbox = notebook({
      spec: {
        podTemplate: {
          metadata: { labels: { team: 'a', [HASH]: 'forged' }, annotations: { owner: 'ana' } },
          spec: {
            containers,
            volumes: [
              { name: 'work', emptyDir: {} },
              { name: 'tmp', emptyDir: {} },
            ],
            hostname: 'kept',
          },
        },
        volumeClaimTemplates: [WORK],
      },
    });
    expect(buildPod(sandbox, RUNTIME)).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'notebook',
        namespace: 'team-a',
        labels: { team: 'a', ...tracking },
        annotations: {
          owner: 'ana',
          'agents.x-k8s.io/propagated-labels': 'team',
          'agents.x-k8s.io/propagated-annotations': 'owner',
        },
        ownerReferences: owner,
      },
      spec: {
        containers,
        hostname: 'kept',
        volumes: [
          { name: 'tmp', emptyDir: {} },
          { name: 'work', persistentVolumeClaim: { claimName: 'work-notebook' } },
        ],
      },
    });
  });

  it('gets no volumes field when there are none', () => {
    expect(buildPod(notebook(), RUNTIME).spec).toEqual({ containers: [{ name: 'main', image: 'busybox' }] });
  });

  it.each([
    [
      'is owned by another controller',
      makePod(notebook(), { owner: STRANGER }),
      'pod "notebook" is owned by ReplicaSet/web (UID: uid-web), not by sandbox "notebook"',
    ],
    [
      'has no owner and none of the labels',
      makePod(notebook(), { owner: null, labels: {} }),
      'cannot adopt unowned pod "notebook": missing required pool authorization label ("agents.x-k8s.io/adoptable") ' +
        'or sandbox tracking label ("agents.x-k8s.io/sandbox-name-hash")',
    ],
  ])('is refused when one of its name %s', (_, foreignPod, message) => {
    expect(getStep(decidePod(buildSnapshot({ foreignPod })), 'reportFailure').message).toBe(message);
  });

  it('is taken over with a patch guarded by resourceVersion', () => {
    const foreignPod = makePod(notebook(), { owner: null, labels: { 'agents.x-k8s.io/adoptable': 'true' } });
    expect(getStep(decidePod(buildSnapshot({ foreignPod })), 'patchPod').patch).toEqual({
      metadata: {
        uid: 'uid-pod-notebook',
        resourceVersion: '7',
        ownerReferences: owner,
        labels: tracking,
        annotations: {},
      },
    });
  });

  it('waits while a Pod that may be taken over is terminating', () => {
    const foreignPod = makePod(notebook(), { owner: null, terminating: true });
    expect(decidePod(buildSnapshot({ foreignPod }))).toEqual([]);
  });
});

describe('Pod metadata', () => {
  const labelled = (metadata: object) =>
    notebook({
      metadata: {
        labels: {
          'agents.x-k8s.io/claim-uid': 'uid-c',
          'agents.x-k8s.io/sandbox-template-ref-hash': 'abc',
          'agents.x-k8s.io/launch-type': 'warm',
          'agents.x-k8s.io/created-by': 'curl',
        },
        ...metadata,
      },
    });

  it('carries the labels of a claim to the Pod of its Sandbox, and a known creator only', () => {
    expect(buildWantedPodMetadata(labelled({ ownerReferences: [claimed] })).labels).toEqual({
      ...tracking,
      'agents.x-k8s.io/claim-uid': 'uid-c',
      'agents.x-k8s.io/sandbox-template-ref-hash': 'abc',
      'agents.x-k8s.io/created-by': 'unknown',
    });
  });

  it('carries no such label of an authored Sandbox, whose author could forge them', () => {
    expect(buildWantedPodMetadata(labelled({})).labels).toEqual({
      ...tracking,
      'agents.x-k8s.io/created-by': 'unknown',
    });
  });

  it('carries them for a Sandbox that a detached claim delivered', () => {
    const labels = { 'sandlot.dev/claim-name': 'rollout', 'agents.x-k8s.io/sandbox-template-ref-hash': 'abc' };
    expect(buildWantedPodMetadata(notebook({ metadata: { labels } })).labels).toEqual({ ...tracking, ...labels });
  });

  it('carries them for a Sandbox whose delivery failed and that a claim keeps, so that its network policy stays', () => {
    const kept = { 'sandlot.dev/claim-name': 'job', 'sandlot.dev/reserved-failed': 'true' };
    const ofClaim = labelled({ ownerReferences: [claimed] });
    const metadata = { ...ofClaim.metadata, ownerReferences: [], labels: { ...ofClaim.metadata.labels, ...kept } };
    expect(buildWantedPodMetadata({ ...ofClaim, metadata })).toEqual({
      ...buildWantedPodMetadata(ofClaim),
      labels: { ...buildWantedPodMetadata(ofClaim).labels, ...kept },
    });
  });

  it('carries them for a Sandbox whose claim was deleted with --cascade=orphan, so that its network policy stays', () => {
    const labels = {
      'agents.x-k8s.io/claim-uid': 'uid-c',
      'agents.x-k8s.io/sandbox-template-ref-hash': nameHash('template'),
    };
    const annotations = { 'agents.x-k8s.io/sandbox-template-ref': 'template' };
    const orphan = notebook({ metadata: { labels, annotations } });
    expect(buildWantedPodMetadata(orphan).labels).toEqual({ ...tracking, ...labels });
  });

  it('skips reserved keys of the template', () => {
    const metadata = {
      labels: { 'sandlot.dev/claim-name': 'x', ok: '1' },
      annotations: { 'opentelemetry.io/trace-context': '{}', 'extensions.agents.x-k8s.io/a': 'x' },
    };
    const podTemplate = { metadata, spec: { containers: [] } };
    expect(buildWantedPodMetadata(notebook({ spec: { podTemplate } }))).toEqual({
      labels: { ok: '1', ...tracking },
      annotations: { 'agents.x-k8s.io/propagated-labels': 'ok' },
    });
  });

  it.each([
    ['of a claim', [claimed], { 'agents.x-k8s.io/sandbox-template-ref-hash': 'own' }],
    ['that a user wrote', [], {}],
  ])('never selects the network rules of others by labels of the template: a Sandbox %s', (_, owners, expected) => {
    const labels = { 'agents.x-k8s.io/sandbox-template-ref-hash': 'other', 'agents.x-k8s.io/claim-uid': 'other' };
    const podTemplate = {
      metadata: { labels: { ...labels, 'sandlot.dev/network': 'own', ok: '1' } },
      spec: { containers: [] },
    };
    const metadata = { ownerReferences: owners, labels: { 'agents.x-k8s.io/sandbox-template-ref-hash': 'own' } };
    const wanted = buildWantedPodMetadata(notebook({ metadata, spec: { podTemplate } }));
    expect(wanted.labels).toEqual({ ok: '1', ...tracking, ...expected });
  });

  const template = { metadata: { labels: { team: 'b' }, annotations: { note: '1' } }, spec: { containers: [] } };
  const sandbox = notebook({ spec: { podTemplate: template } });

  it('on a live Pod adds new keys of the template and removes old ones', () => {
    const pod = makePod(sandbox, {
      labels: { ...tracking, team: 'a', gone: 'x', foreign: 'kept', 'agents.x-k8s.io/warm-pool-sandbox': 'p' },
      annotations: {
        old: 'x',
        'agents.x-k8s.io/propagated-labels': 'gone,team',
        'agents.x-k8s.io/propagated-annotations': 'old',
      },
    });
    expect(buildPodMetadataPatch(sandbox, pod)).toEqual({
      metadata: {
        uid: 'uid-pod-notebook',
        labels: { team: 'b', gone: null, 'agents.x-k8s.io/warm-pool-sandbox': null },
        annotations: {
          note: '1',
          old: null,
          'agents.x-k8s.io/propagated-labels': 'team',
          'agents.x-k8s.io/propagated-annotations': 'note',
        },
      },
    });
  });

  it('removes its own lists when the template has nothing left', () => {
    const pod = makePod(notebook(), {
      labels: { ...tracking, team: 'a' },
      annotations: { 'agents.x-k8s.io/propagated-labels': 'team' },
    });
    expect(buildPodMetadataPatch(notebook(), pod)).toEqual({
      metadata: {
        uid: 'uid-pod-notebook',
        labels: { team: null },
        annotations: { 'agents.x-k8s.io/propagated-labels': null },
      },
    });
  });

  it('is not written when the Pod is up to date', () => {
    const built = buildPod(sandbox, RUNTIME);
    expect(buildPodMetadataPatch(sandbox, built)).toBeUndefined();
  });
});

describe('disks', () => {
  const sandbox = notebook({ spec: { volumeClaimTemplates: [WORK] } });
  const retained = notebook({
    spec: { volumeClaimTemplates: [WORK], persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain' } },
  });

  it('are created from their template and owned by the Sandbox', () => {
    const template = { metadata: { name: 'work', labels: { a: 'b' }, annotations: { c: 'd' } }, spec: WORK.spec };
    const given = notebook({ spec: { volumeClaimTemplates: [template] } });
    expect(getStep(decideDisks(buildSnapshot({ sandbox: given })), 'createDisk').disk).toEqual({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        name: 'work-notebook',
        namespace: 'team-a',
        labels: { a: 'b', ...tracking },
        annotations: { c: 'd' },
        ownerReferences: owner,
      },
      spec: WORK.spec,
    });
  });

  it('that outlive a deleted Sandbox are created without an owner', () => {
    const { disk } = getStep(decideDisks(buildSnapshot({ sandbox: retained })), 'createDisk');
    expect(disk.metadata.ownerReferences).toBeUndefined();
    expect(disk.metadata.labels).toEqual(tracking);
  });

  const adoptable = { ownerReferences: [], labels: { 'agents.x-k8s.io/adoptable': 'true' } };
  it.each([
    ['of ours are left alone', sandbox, buildDisk(sandbox), []],
    [
      'without an owner and with our label are taken back',
      sandbox,
      buildDisk(sandbox, { ownerReferences: [] }),
      ['patchDisk'],
    ],
    ['without an owner that are adoptable are taken over', sandbox, buildDisk(sandbox, adoptable), ['patchDisk']],
    [
      'without an owner and label are reported',
      sandbox,
      buildDisk(sandbox, { ownerReferences: [], labels: {} }),
      ['reportFailure'],
    ],
    ['of another owner are reported', sandbox, buildDisk(sandbox, { ownerReferences: [STRANGER] }), ['reportFailure']],
    ['lose their owner when they are to be retained', retained, buildDisk(sandbox), ['patchDisk']],
    ['that are retained stay without an owner', retained, buildDisk(sandbox, { ownerReferences: [] }), []],
  ])('%s', (...[, given, disk, steps]) => {
    expect(decideDisks(buildSnapshot({ sandbox: given, disks: [disk] })).map((step) => step.kind)).toEqual(steps);
  });

  it.each([
    [
      { ownerReferences: [STRANGER] },
      'PVC "work-notebook" is owned by ReplicaSet/web (UID: uid-web), not by sandbox "notebook"',
    ],
    [
      { ownerReferences: [], labels: {} },
      'cannot adopt unowned PVC "work-notebook": missing required pool authorization label ' +
        '("agents.x-k8s.io/adoptable") or sandbox tracking label ("agents.x-k8s.io/sandbox-name-hash")',
    ],
  ])('are reported with the documented messages (%#)', (metadata, message) => {
    const snapshot = buildSnapshot({ sandbox, disks: [buildDisk(sandbox, metadata)] });
    expect(getStep(decideDisks(snapshot), 'reportFailure').message).toBe(message);
  });

  it('that failed keep the Pod from being created', () => {
    const snapshot = buildSnapshot({
      sandbox,
      disks: [buildDisk(sandbox)],
      failures: [{ phase: 'disks', message: 'refused' }],
    });
    expect(decidePod(snapshot)).toEqual([]);
  });

  it('that are retained keep their other owners', () => {
    const other = { ...STRANGER, controller: false };
    const disk = buildDisk(sandbox, {
      ownerReferences: [...(buildDisk(sandbox).metadata.ownerReferences ?? []), other],
    });
    expect(getStep(decideDisks(buildSnapshot({ sandbox: retained, disks: [disk] })), 'patchDisk').patch).toEqual({
      metadata: { uid: 'uid-work-notebook', resourceVersion: '3', labels: tracking, ownerReferences: [other] },
    });
  });
});

describe('what caches keep', () => {
  const bulk = {
    managedFields: [{ manager: 'kubelet' }],
    annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}', a: 'b' },
  };

  it('of managedFields is the API version of the author, without the field sets', () => {
    const entry = {
      manager: 'kubectl',
      apiVersion: 'agents.x-k8s.io/v1alpha1',
      fieldsV1: { 'f:spec': { 'f:podTemplate': { 'f:spec': {} } } },
    };
    const reduced = reduceSandbox(notebook({ metadata: { ...bulk, managedFields: [entry, ...bulk.managedFields] } }));
    expect(reduced.metadata.managedFields).toEqual([{ ...entry, fieldsV1: { 'f:spec': { 'f:podTemplate': {} } } }]);
    expect(reduced.metadata.annotations).toEqual({ a: 'b' });
    expect(reduceSandbox(reduced)).toEqual(reduced);
  });

  it('of a Pod is metadata, status and the node', () => {
    const pod = makePod(notebook());
    const full = {
      ...pod,
      metadata: { ...pod.metadata, ...bulk },
      spec: { containers: [{ name: 'main' }], nodeName: 'n' },
    };
    expect(reducePod(full)).toEqual({
      metadata: { ...pod.metadata, annotations: { a: 'b' } },
      spec: { containers: [], nodeName: 'n' },
      status: pod.status,
    });
  });
});
