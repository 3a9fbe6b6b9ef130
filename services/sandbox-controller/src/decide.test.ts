import { describe, expect, it } from 'vitest';
import { decide } from './decide.ts';
import { requeueAtMs } from './lifetime/decide-requeue.ts';
import type { Snapshot } from './plan/snapshot.ts';
import {
  EARLIER,
  NOW,
  NOW_MS,
  STRANGER,
  WORK,
  buildDisk,
  conditionSummary,
  kinds,
  notebook,
  makePod,
  published,
  buildSnapshot,
  getStep,
} from '../test/builders.ts';

const running = notebook();
const suspended = notebook({ spec: { operatingMode: 'Suspended' } });
const NOT_SUSPENDED = 'Suspended=False/NotSuspended';

/** A Sandbox whose status already shows a Ready Pod. */
const ready = published(buildSnapshot({ sandbox: running, ownedPods: [makePod(running)] }));
/** The same, with its owner asking for a suspension. */
const readyToSuspend = { ...ready, spec: { ...ready.spec, operatingMode: 'Suspended' as const } };
const isSuspended = published(buildSnapshot({ sandbox: suspended }));

describe('a pass', () => {
  const rows: readonly (readonly [sentence: string, snapshot: Snapshot, steps: readonly string[]])[] = [
    ['creates the Pod of a new Sandbox', buildSnapshot(), ['createPod']],
    [
      'creates the disks before the Pod that mounts them',
      buildSnapshot({ sandbox: notebook({ spec: { volumeClaimTemplates: [WORK] } }) }),
      ['createDisk'],
    ],
    [
      'does not create a Pod on a disk that is being deleted',
      buildSnapshot({
        sandbox: notebook({ spec: { volumeClaimTemplates: [WORK] } }),
        disks: [buildDisk(running, { deletionTimestamp: NOW })],
      }),
      ['patchStatus'],
    ],
    [
      'creates the Service once there is a Pod',
      buildSnapshot({ sandbox: notebook({ spec: { service: true } }), ownedPods: [makePod(running)] }),
      ['createService'],
    ],
    [
      'writes the name of the Pod before it publishes Ready',
      buildSnapshot({ ownedPods: [makePod(running)] }),
      ['patchSandbox', 'patchStatus'],
    ],
    ['does nothing when nothing changed', buildSnapshot({ sandbox: ready, ownedPods: [makePod(running)] }), []],
    [
      'publishes that Ready is lost before it replaces a Pod that is gone',
      buildSnapshot({ sandbox: ready }),
      ['patchStatus', 'recordEvent'],
    ],
    [
      'creates nothing while the old Pod is terminating',
      buildSnapshot({ sandbox: ready, ownedPods: [makePod(running, { terminating: true })] }),
      ['patchStatus'],
    ],
    [
      'does not replace a Pod that failed',
      buildSnapshot({ sandbox: ready, ownedPods: [makePod(running, { phase: 'Failed' })] }),
      ['patchStatus', 'recordEvent'],
    ],
    [
      'deletes the Pod of a Sandbox that is to be suspended',
      buildSnapshot({ sandbox: readyToSuspend, ownedPods: [makePod(running)] }),
      ['deletePod'],
    ],
    [
      'waits for a Pod that a finalizer holds',
      buildSnapshot({
        sandbox: published(
          buildSnapshot({ sandbox: readyToSuspend, ownedPods: [makePod(running, { terminating: true })] }),
        ),
        ownedPods: [makePod(running, { terminating: true })],
      }),
      [],
    ],
    [
      'removes the name of the Pod once the suspension is complete',
      buildSnapshot({ sandbox: readyToSuspend }),
      ['patchSandbox', 'patchStatus', 'recordEvent'],
    ],
    [
      'leaves a foreign Pod alone while suspended',
      buildSnapshot({ sandbox: suspended, foreignPod: makePod(running, { owner: STRANGER }) }),
      ['patchStatus', 'recordEvent'],
    ],
    [
      'creates a new Pod for a Sandbox that resumes',
      buildSnapshot({ sandbox: { ...isSuspended, spec: running.spec } }),
      ['createPod'],
    ],
    [
      'neither creates nor deletes when two Pods carry our UID',
      buildSnapshot({
        sandbox: { ...readyToSuspend, spec: { ...readyToSuspend.spec, service: true } },
        ownedPods: [makePod(running), makePod(running, { name: 'other' })],
      }),
      ['patchStatus', 'recordEvent'],
    ],
    [
      'reports a foreign Pod that has the name',
      buildSnapshot({ foreignPod: makePod(running, { owner: STRANGER }) }),
      ['reportFailure'],
    ],
    [
      'takes over an unowned Pod with the tracking label',
      buildSnapshot({ foreignPod: makePod(running, { owner: null }) }),
      ['patchPod'],
    ],
    [
      'stops when the Sandbox is being deleted',
      buildSnapshot({ sandbox: notebook({ metadata: { deletionTimestamp: NOW } }) }),
      [],
    ],
    ['stops when the Sandbox is gone', buildSnapshot({ gone: true }), []],
    [
      'repairs a wrong Pod name in the annotation',
      buildSnapshot({
        sandbox: { ...ready, metadata: { ...ready.metadata, annotations: { 'agents.x-k8s.io/pod-name': 'other' } } },
        ownedPods: [makePod(running)],
      }),
      ['patchSandbox'],
    ],
    [
      'removes the suspender on resume',
      buildSnapshot({
        sandbox: {
          ...ready,
          metadata: {
            ...ready.metadata,
            annotations: { ...ready.metadata.annotations, 'sandlot.dev/suspended-by': 'Idle' },
          },
        },
        ownedPods: [makePod(running)],
      }),
      ['patchSandbox'],
    ],
  ];

  it.each(rows)('%s', (_, snapshot, steps) => {
    expect(kinds(snapshot)).toEqual(steps);
  });

  it('reports a failed creation instead of retrying it in the same pass', () => {
    const failures = [{ phase: 'pod' as const, message: 'quota' }];
    const plan = decide(buildSnapshot({ failures }));
    expect(getStep(plan, 'patchStatus').patch).toMatchObject({ status: { phase: 'Pending' } });
    expect(conditionSummary(buildSnapshot({ failures }))).toEqual([
      'PodScheduled=Unknown/PodSchedulingUnknown',
      'Ready=False/ReconcilerError',
      NOT_SUSPENDED,
    ]);
  });
});

describe('the time of the next pass', () => {
  it('does not exist for a Sandbox without a deadline', () => {
    expect(requeueAtMs(buildSnapshot({ sandbox: ready, ownedPods: [makePod(running)] }))).toBeUndefined();
  });

  it('is the deadline', () => {
    const sandbox = { ...ready, spec: { ...ready.spec, shutdownTime: '2026-01-01T12:00:30Z' } };
    expect(requeueAtMs(buildSnapshot({ sandbox, ownedPods: [makePod(running)] }))).toBe(NOW_MS + 30_000);
  });

  it('is the end of the quiet start', () => {
    const pod = makePod(running, { phase: 'Pending', created: NOW });
    expect(requeueAtMs(buildSnapshot({ ownedPods: [pod] }))).toBe(NOW_MS + 2_000);
  });

  it('is in a minute while there is a foreign Pod, because no event may show its end', () => {
    const foreignPod = makePod(running, { owner: STRANGER });
    const sandbox = published(buildSnapshot({ sandbox: suspended, foreignPod }));
    expect(requeueAtMs(buildSnapshot({ sandbox, foreignPod }))).toBe(NOW_MS + 60_000);
  });

  it('does not exist once a retained Sandbox has expired', () => {
    const expired = {
      type: 'Ready',
      status: 'False' as const,
      reason: 'SandboxExpired',
      message: '',
      lastTransitionTime: EARLIER,
    };
    const sandbox = notebook({ spec: { shutdownTime: EARLIER }, status: { conditions: [expired] } });
    expect(requeueAtMs(buildSnapshot({ sandbox }))).toBeUndefined();
  });
});
