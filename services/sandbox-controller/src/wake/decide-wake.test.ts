import type { Sandbox } from '@sandlot/api-types';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { decide, wakeAtMs } from '../decide.ts';
import { statusOf } from '../status/status.ts';
import { EARLIER, NOW_MS, kinds, notebook, podOf, published, snapshotOf, stepOf } from '../../test/builders.ts';
import type { SnapshotParts } from '../../test/builders.ts';
import { WakeRequests } from './wake-requests.ts';

type Spec = Partial<Sandbox['spec']>;

const by = (who: string) => ({ annotations: { 'sandlot.dev/suspended-by': who } });
const UNTIL = NOW_MS + 5_000;

/** Suspended, its status says so, and somebody asks for it. */
function asleep(spec: Spec = {}, metadata: Sandbox['metadata'] = by('Idle')): SnapshotParts & { sandbox: Sandbox } {
  const sandbox = notebook({ metadata, spec: { operatingMode: 'Suspended', ...spec } });
  return { sandbox: { ...sandbox, status: statusOf(snapshotOf({ sandbox })) }, wakeUntilMs: UNTIL };
}

const expired = {
  status: 'False',
  reason: 'SandboxExpired',
  message: 'Sandbox has expired',
  lastTransitionTime: EARLIER,
} as const;
const running = snapshotOf({ ownedPods: [podOf(notebook())] });
const pods = { ownedPods: [podOf(notebook())] };

/** What answers the request: the steps of the next plan, and why if it is refused. */
function answer(parts: SnapshotParts): string[] {
  return decide(snapshotOf(parts)).map((step) => (step.kind === 'refuseWake' ? `refused: ${step.why}` : step.kind));
}

describe('a request to wake a Sandbox', () => {
  const resumed = ['resumeSandbox'];
  const rows: readonly (readonly [sentence: string, parts: SnapshotParts, answer: readonly string[]])[] = [
    ['resumes what idleness suspended', asleep(), resumed],
    ['resumes what its startup action suspended', asleep({}, by('Startup')), resumed],
    ['resumes what the API suspended', asleep({}, by('API')), resumed],
    ['leaves alone what its owner suspended', asleep({}, {}), ['refused: owner']],
    ['leaves alone what a record of nobody we know suspended', asleep({}, by('Somebody')), ['refused: owner']],
    ['resumes what its owner suspended if always welcome', asleep({ autoResume: 'Always' }, {}), resumed],
    ['is never welcome if the Sandbox says so', asleep({ autoResume: 'Never' }), ['refused: never']],
    ['does not resume an expired Sandbox', asleep({ shutdownTime: EARLIER }), ['refused: expired']],
    [
      'does not resume a retained expired Sandbox whose deadline was moved before a pass has revived it',
      { ...asleep(), sandbox: { ...asleep().sandbox, status: { conditions: [{ ...expired, type: 'Ready' }] } } },
      ['refused: expired'],
    ],
    [
      'does not resume a Sandbox that is being deleted',
      asleep({}, { ...by('Idle'), deletionTimestamp: EARLIER }),
      ['refused: deleting'],
    ],
    ['changes nothing while the Sandbox runs', { sandbox: published(running), wakeUntilMs: UNTIL, ...pods }, []],
  ];
  it.each(rows)('%s', (_, parts, expected) => {
    expect(answer(parts)).toEqual(expected);
  });

  it('is no request once it has lapsed', () => {
    expect(answer({ ...asleep(), wakeUntilMs: undefined })).toEqual([]);
  });

  it.each([
    ['the mode', {}, { operatingMode: 'Running' }],
    ['replicas', { operatingMode: undefined, replicas: 0 }, { replicas: 1 }],
  ])('writes %s, takes the record along and is guarded', (_, spec, expected) => {
    const { sandbox } = asleep(spec);
    expect(stepOf(decide(snapshotOf(asleep(spec))), 'resumeSandbox').patch).toEqual({
      metadata: {
        uid: sandbox.metadata.uid,
        resourceVersion: sandbox.metadata.resourceVersion,
        annotations: { 'sandlot.dev/suspended-by': null },
      },
      spec: expected,
    });
  });
});

describe('a request that comes while the Sandbox is being suspended', () => {
  const suspending = asleep();
  const pod = podOf(suspending.sandbox);
  const terminating = podOf(suspending.sandbox, { terminating: true });

  it('resumes it once its Pod is gone', () => {
    const status = statusOf(snapshotOf({ ...suspending, ownedPods: [terminating] }));
    const parts = { sandbox: { ...suspending.sandbox, status }, ownedPods: [terminating], wakeUntilMs: UNTIL };
    expect(status.phase).toBe('Suspending');
    expect(answer(parts)).toEqual(['resumeSandbox']);
  });

  it('withdraws the suspension before its Pod is deleted, when the status has told of it', () => {
    const status = published(running).status;
    const fresh = { ...suspending.sandbox, metadata: { ...suspending.sandbox.metadata, generation: 2 }, status };
    const before = { sandbox: fresh, ownedPods: [pod], wakeUntilMs: UNTIL };
    expect(answer({ ...before, wakeUntilMs: undefined })).toEqual(['deletePod']);
    expect(answer(before)).toContain('patchStatus');
    const told = { ...before, sandbox: { ...fresh, status: statusOf(snapshotOf(before)) } };
    expect(answer(told)).toEqual(['resumeSandbox']);
  });

  it('waits for the status to take from the record that the startup action was taken', () => {
    const sandbox = notebook({
      metadata: by('Startup'),
      spec: { operatingMode: 'Suspended', startup: { action: 'SuspendAfterReady' } },
    });
    const parts = { sandbox, wakeUntilMs: UNTIL };
    expect(answer(parts)).toContain('patchStatus');
    const status = statusOf(snapshotOf(parts));
    expect(status.startup?.completedTime).toBeDefined();
    expect(answer({ ...parts, sandbox: { ...sandbox, status } })).toEqual(['resumeSandbox']);
  });
});

describe('idleness and a request to wake the Sandbox', () => {
  const idle = { suspendAfterSeconds: 60, deleteAfterSeconds: 600 };
  const sandbox = published(snapshotOf({ sandbox: notebook({ spec: { idle } }), ...pods }));
  const late = { sandbox, ...pods, nowMs: NOW_MS + 60_000 };

  it('do not meet: nothing is suspended or deleted while somebody asks for it', () => {
    expect(kinds(snapshotOf(late))).toEqual(['suspendSandbox']);
    expect(kinds(snapshotOf({ ...late, wakeUntilMs: late.nowMs + 5_000 }))).toEqual([]);
    expect(kinds(snapshotOf({ ...late, nowMs: NOW_MS + 600_000, wakeUntilMs: NOW_MS + 605_000 }))).toEqual([]);
  });

  it('are looked at again when the request lapses', () => {
    expect(wakeAtMs(snapshotOf({ ...late, wakeUntilMs: late.nowMs + 5_000 }))).toBe(late.nowMs + 5_000);
  });
});

describe('requests in memory', () => {
  it('are one for a Sandbox, lapse by themselves and end when answered', async () => {
    const clock = new FakeClock(NOW_MS);
    const requests = new WakeRequests(clock);
    requests.ask('a');
    await clock.advance(3_000);
    requests.ask('a');
    expect(requests.untilMs('a')).toBe(NOW_MS + 8_000);
    expect(requests.untilMs('b')).toBeUndefined();
    await clock.advance(5_000);
    expect(requests.untilMs('a')).toBeUndefined();
    requests.ask('a');
    requests.answered('a');
    expect(requests.untilMs('a')).toBeUndefined();
  });

  it('are bounded: the oldest goes first', () => {
    const requests = new WakeRequests(new FakeClock(NOW_MS));
    for (let uid = 0; uid <= 10_000; uid += 1) requests.ask(String(uid));
    expect([requests.untilMs('0'), requests.untilMs('1')]).toEqual([undefined, NOW_MS + 5_000]);
  });
});
