import { describe, expect, it } from 'vitest';
import { decide } from '../decide.ts';
import { requeueAtMs } from './decide-requeue.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { getStatus } from '../status/status.ts';
import {
  NOW,
  NOW_MS,
  WORK,
  buildDisk,
  kinds,
  notebook,
  makePod,
  published,
  buildSnapshot,
  getStep,
} from '../../test/builders.ts';

type Parts = NonNullable<Parameters<typeof notebook>[0]>;

const at = (seconds: number): string => new Date(NOW_MS + seconds * 1_000).toISOString().replace('.000', '');
const reported = (seconds: number) => ({ 'sandlot.dev/last-activity-at': at(seconds) });
const limits = { suspendAfterSeconds: 60, deleteAfterSeconds: 600 };

/** First Ready now, with those limits, seen `seconds` later. */
function ready(idle: NonNullable<Parts['spec']>['idle'], seconds = 0, parts: Parts = {}): Snapshot {
  const sandbox = notebook({ ...parts, spec: { idle, ...parts.spec } });
  const ownedPods = [makePod(sandbox)];
  const before = published(buildSnapshot({ sandbox, ownedPods }));
  return buildSnapshot({ sandbox: before, ownedPods, nowMs: NOW_MS + seconds * 1_000 });
}

function withAnnotations(snapshot: Snapshot, annotations: Record<string, string>): Snapshot {
  const { metadata } = snapshot.sandbox;
  const sandbox = {
    ...snapshot.sandbox,
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
  };
  return { ...snapshot, sandbox };
}

/** Idle has suspended it, and its Pod is gone. */
function asleep(seconds: number): Snapshot {
  const awake = ready(limits, seconds);
  const metadata = { ...awake.sandbox.metadata, annotations: { 'sandlot.dev/suspended-by': 'Idle' } };
  const sandbox = { ...awake.sandbox, metadata, spec: { ...awake.sandbox.spec, operatingMode: 'Suspended' as const } };
  const parts = { nowMs: awake.nowMs };
  return buildSnapshot({ ...parts, sandbox: { ...sandbox, status: getStatus(buildSnapshot({ ...parts, sandbox })) } });
}

/** Its owner wants it to run, from the next generation on. */
function resumed(snapshot: Snapshot): Snapshot {
  const { sandbox } = snapshot;
  const metadata = { ...sandbox.metadata, generation: 2 };
  return { ...snapshot, sandbox: { ...sandbox, metadata, spec: { ...sandbox.spec, operatingMode: 'Running' } } };
}

describe('idleness', () => {
  const rows: readonly (readonly [sentence: string, snapshot: Snapshot, steps: readonly string[]])[] = [
    ['does nothing without a limit', ready({}, 9_999), []],
    ['does nothing a second early', ready(limits, 59), []],
    ['suspends at its limit', ready(limits, 60), ['suspendSandbox']],
    ['does not suspend a Sandbox that was used meanwhile', withAnnotations(ready(limits, 60), reported(1)), []],
    ['suspends at the limit after the last use', withAnnotations(ready(limits, 61), reported(1)), ['suspendSandbox']],
    [
      'takes a report of the far future for one of the moment it was first seen',
      { ...withAnnotations(ready(limits, 90), reported(9e6)), earlyReportSeenMs: NOW_MS + 30_000 },
      ['suspendSandbox'],
    ],
    [
      'waits for its limit after such a report too',
      { ...withAnnotations(ready(limits, 89), reported(9e6)), earlyReportSeenMs: NOW_MS + 30_000 },
      ['patchStatus'],
    ],
    [
      'takes no notice of a report that is no time',
      withAnnotations(ready(limits, 60), { 'sandlot.dev/last-activity-at': 'now' }),
      ['suspendSandbox'],
    ],
    ['waits for the pass that acts on an edit of the spec', resumed(ready(limits, 60)), ['patchStatus']],
    ['deletes at its limit', ready({ deleteAfterSeconds: 60 }, 60), ['deleteSandbox']],
    ['deletes a suspended Sandbox too', { ...asleep(60), nowMs: NOW_MS + 600_000 }, ['deleteSandbox']],
    ['does not delete a suspended Sandbox early', { ...asleep(60), nowMs: NOW_MS + 599_999 }, []],
    ['deletes a Sandbox that is overdue for both limits', ready(limits, 600), ['deleteSandbox']],
    [
      'releases disks that outlive the Sandbox before it deletes it',
      {
        ...ready(limits, 600, {
          spec: { volumeClaimTemplates: [WORK], persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain' } },
        }),
        disks: new Map([['work-notebook', buildDisk(notebook())]]),
      },
      ['patchDisk'],
    ],
    [
      'does not delete while a disk could not be released',
      { ...ready(limits, 600), failures: [{ phase: 'disks', message: 'forbidden' }] },
      ['patchStatus', 'recordEvent'],
    ],
  ];
  it.each(rows)('%s', (_, snapshot, steps) => {
    expect(kinds(snapshot)).toEqual(steps);
  });

  it('suspends with a guarded patch that records the suspender', () => {
    const { metadata } = ready(limits).sandbox;
    expect(getStep(decide(ready(limits, 60)), 'suspendSandbox').patch).toEqual({
      metadata: {
        uid: metadata.uid,
        resourceVersion: metadata.resourceVersion,
        annotations: { 'sandlot.dev/suspended-by': 'Idle' },
      },
      spec: { operatingMode: 'Suspended' },
    });
  });

  it('requeues for the nearest limit', () => {
    expect(requeueAtMs(ready(limits))).toBe(NOW_MS + 60_000);
    expect(requeueAtMs(asleep(60))).toBe(NOW_MS + 600_000);
    expect(requeueAtMs(ready({}))).toBeUndefined();
  });

  it('records an Event when it deletes the Sandbox', () => {
    const { note } = getStep(decide(ready(limits, 600)), 'deleteSandbox');
    expect([note?.reason, note?.message]).toEqual(['IdleDeleted', expect.stringContaining('600 s')]);
  });
});

describe('the last activity', () => {
  const getTime = (snapshot: Snapshot): string | undefined => getStatus(snapshot).lastActivityTime;
  const pool = { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxWarmPool', name: 'p', uid: 'u' };

  it.each([
    ['is absent before the first Ready', buildSnapshot({ sandbox: notebook({ spec: { idle: limits } }) }), undefined],
    ['begins with the first Ready', ready(limits, 30), NOW],
    ['is absent without limits', ready(undefined, 30), undefined],
    [
      'is absent for a pool member',
      ready(limits, 30, { metadata: { ownerReferences: [{ ...pool, controller: true }] } }),
      undefined,
    ],
    ['is what a tool reports', withAnnotations(ready(limits, 30), reported(20)), at(20)],
    ['is never in the future', withAnnotations(ready(limits, 30), reported(900)), at(30)],
    [
      'of a report from the future is when it was first seen',
      { ...withAnnotations(ready(limits, 50), reported(900)), earlyReportSeenMs: NOW_MS + 30_000 },
      at(30),
    ],
    ['is not written for less than a quarter of the limit', withAnnotations(ready(limits, 30), reported(14)), NOW],
    ['is not written for less than 5 s', withAnnotations(ready({ suspendAfterSeconds: 5 }, 5), reported(4)), NOW],
    ['stays through a suspension', asleep(60), NOW],
    ['is removed on resume, until Ready', resumed(asleep(90)), undefined],
  ])('%s', (_, snapshot, expected) => {
    expect(getTime(snapshot)).toBe(expected);
  });

  it('starts anew at the first Ready after a resume', () => {
    const back = resumed(asleep(90));
    const metadata = { ...back.sandbox.metadata, annotations: {} };
    const pending = { ...back.sandbox, metadata, status: getStatus(back) };
    const again = buildSnapshot({ sandbox: pending, ownedPods: [makePod(pending)], nowMs: NOW_MS + 120_000 });
    expect(getTime(again)).toBe(at(120));
  });

  it('is removed when a suspension is withdrawn before the status shows it', () => {
    const asked = withAnnotations(ready(limits, 60), { 'sandlot.dev/suspended-by': 'Idle' });
    expect(kinds(resumed(asked))).toEqual(['patchStatus']);
    expect(getTime(resumed(asked))).toBeUndefined();
  });

  it('is rounded up, so that no limit is early', () => {
    const first = ready(limits);
    const status = { ...first.sandbox.status, lastActivityTime: undefined };
    expect(getTime({ ...first, sandbox: { ...first.sandbox, status }, nowMs: NOW_MS + 1 })).toBe(at(1));
  });
});
