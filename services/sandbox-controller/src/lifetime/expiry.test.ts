import { describe, expect, it } from 'vitest';
import { decide } from '../decide.ts';
import { findExpiryMs } from './expiry.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { getExpiredStatus } from '../status/status.ts';
import {
  EARLIER,
  NOW,
  NOW_MS,
  STRANGER,
  WORK,
  buildDisk,
  kinds,
  notebook,
  makePod,
  published,
  buildService,
  buildSnapshot,
  getStep,
} from '../../test/builders.ts';

type Spec = NonNullable<Parameters<typeof notebook>[0]>['spec'];

/** A running Sandbox whose status is current. */
function settled(spec: Spec): Snapshot {
  const sandbox = notebook({ spec: { service: true, volumeClaimTemplates: [WORK], ...spec } });
  const parts = { ownedPods: [makePod(sandbox)], service: buildService(sandbox), disks: [buildDisk(sandbox)] };
  return buildSnapshot({ sandbox: published(buildSnapshot({ sandbox, ...parts })), ...parts });
}

/** The same once its expiry has been published. */
function marked(spec: Spec): Snapshot {
  const before = settled({ shutdownTime: NOW, ...spec });
  return { ...before, sandbox: { ...before.sandbox, status: getExpiredStatus(before) } };
}

describe('the effective expiry', () => {
  const finished = {
    conditions: [
      { type: 'Finished', status: 'True' as const, reason: 'PodFailed', message: '', lastTransitionTime: EARLIER },
    ],
  };
  it.each([
    ['does not exist without a limit', {}, undefined],
    ['is the absolute time', { shutdownTime: '2026-01-01T13:00:00Z' }, '2026-01-01T13:00:00Z'],
    ['counts the lifetime from its start', { ttlSeconds: 60 }, '2026-01-01T11:01:00Z'],
    ['counts the time after the Pod finished', { ttlSecondsAfterFinished: 0 }, EARLIER],
    [
      'is the earliest of them',
      { shutdownTime: '2026-01-01T11:00:30Z', ttlSeconds: 60, ttlSecondsAfterFinished: 90 },
      '2026-01-01T11:00:30Z',
    ],
  ])('%s', (_, spec, expected) => {
    const sandbox = notebook({ spec, status: finished });
    expect(findExpiryMs(sandbox, EARLIER)).toBe(expected === undefined ? undefined : Date.parse(expected));
  });

  it('does not count from a Pod that has not finished', () => {
    expect(findExpiryMs(notebook({ spec: { ttlSecondsAfterFinished: 0 } }), EARLIER)).toBeUndefined();
  });
});

describe('an expiry', () => {
  it('does nothing a millisecond early', () => {
    const snapshot = settled({ shutdownTime: NOW });
    expect(kinds({ ...snapshot, nowMs: NOW_MS - 1 })).toEqual([]);
  });

  it('is published before anything is deleted, which is for a second pass', () => {
    const plan = decide(settled({ shutdownTime: NOW }));
    expect(plan.map((step) => step.kind)).toEqual(['patchStatus', 'recordEvent', 'requeueNow']);
    expect(getStep(plan, 'patchStatus').patch).toMatchObject({ status: { phase: 'Expired' } });
  });

  it('waits for the pass that acts on an edit of the spec', () => {
    const snapshot = settled({ shutdownTime: NOW });
    const metadata = { ...snapshot.sandbox.metadata, generation: 2 };
    expect(kinds({ ...snapshot, sandbox: { ...snapshot.sandbox, metadata } })).toEqual(['patchStatus']);
  });

  const rows: readonly (readonly [sentence: string, spec: Spec, steps: readonly string[]])[] = [
    ['deletes Pod and Service and keeps Sandbox and disks by default', {}, ['deletePod', 'deleteService']],
    [
      'with Delete leaves the disks to garbage collection',
      { shutdownPolicy: 'Delete' },
      ['deletePod', 'deleteService'],
    ],
    [
      'with Delete and retained disks releases them before it deletes the Sandbox',
      { shutdownPolicy: 'Delete', persistentVolumeClaimRetentionPolicy: { whenExpired: 'Retain' } },
      ['deletePod', 'deleteService', 'patchDisk'],
    ],
    [
      'with Delete follows whenDeleted where whenExpired is not set',
      { shutdownPolicy: 'Delete', persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain' } },
      ['deletePod', 'deleteService', 'patchDisk'],
    ],
    [
      'that retains the Sandbox deletes the disks when whenExpired is Delete',
      { persistentVolumeClaimRetentionPolicy: { whenExpired: 'Delete' } },
      ['deletePod', 'deleteService', 'deleteDisk'],
    ],
  ];
  it.each(rows)('%s', (_, spec, steps) => {
    expect(kinds(marked(spec))).toEqual(steps);
  });

  it('with Delete deletes the Sandbox last', () => {
    const snapshot = marked({ shutdownPolicy: 'Delete' });
    const done = { ...snapshot, ownedPods: [makePod(snapshot.sandbox, { terminating: true })], service: undefined };
    expect(kinds(done)).toEqual(['deleteSandbox']);
    const failures = [{ phase: 'disks' as const, message: 'forbidden' }];
    expect(kinds({ ...done, failures })).not.toContain('deleteSandbox');
  });

  it('takes back a released disk before it deletes it, because it deletes only what it owns', () => {
    const policy = { whenDeleted: 'Retain', whenExpired: 'Delete' } as const;
    const snapshot = marked({ persistentVolumeClaimRetentionPolicy: policy });
    const disk = buildDisk(snapshot.sandbox, { ownerReferences: [] });
    const disks = new Map([['work-notebook', disk]]);
    expect(kinds({ ...snapshot, disks, ownedPods: [], service: undefined })).toEqual(['patchDisk']);
  });

  it('skips foreign objects', () => {
    const snapshot = marked({ persistentVolumeClaimRetentionPolicy: { whenExpired: 'Delete' } });
    const foreign = { ownerReferences: [STRANGER] };
    const around = {
      ownedPods: [],
      foreignPod: makePod(snapshot.sandbox, { owner: STRANGER }),
      service: buildService(snapshot.sandbox, { metadata: foreign }),
      disks: new Map([['work-notebook', buildDisk(snapshot.sandbox, foreign)]]),
    };
    expect(kinds({ ...snapshot, ...around })).toEqual(['patchSandbox']);
  });

  it('clears the status once the children are deleted', () => {
    const before = settled({ shutdownTime: NOW });
    const [first] = decide(before);
    expect(first?.kind).toBe('patchStatus');
    const { sandbox } = marked({});
    const kept = { ...sandbox, status: { ...before.sandbox.status, ...sandbox.status } };
    const plan = decide(buildSnapshot({ sandbox: kept }));
    expect(getStep(plan, 'patchStatus').patch['status']).toEqual({
      service: null,
      serviceFQDN: null,
      selector: null,
      podIPs: null,
      nodeName: null,
      replicas: null,
      startedAt: null,
      expiresAt: null,
    });
  });

  it('of a retained Sandbox is undone by moving the deadline', () => {
    const { sandbox } = marked({});
    const spec = { ...sandbox.spec, shutdownTime: '2026-01-01T13:00:00Z' };
    const metadata = { ...sandbox.metadata, generation: 2 };
    const back = buildSnapshot({ sandbox: { ...sandbox, spec, metadata }, disks: [buildDisk(sandbox)] });
    expect(kinds(back)).toEqual(['createPod']);
  });

  it('is not undone by an edit that leaves the deadline in the past', () => {
    const { sandbox } = marked({});
    const edited = { ...sandbox, metadata: { ...sandbox.metadata, generation: 2, annotations: {} } };
    const plan = decide(buildSnapshot({ sandbox: edited, disks: [buildDisk(sandbox)] }));
    expect(plan.map((step) => step.kind)).toEqual(['patchStatus']);
    expect(getStep(plan, 'patchStatus').patch).toMatchObject({ status: { observedGeneration: 2 } });
  });
});
