import type { Sandbox } from '@sandlot/api-types';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { decide } from '../decide.ts';
import { requeueAtMs } from '../lifetime/decide-requeue.ts';
import { getStatus } from '../status/status.ts';
import { EARLIER, NOW_MS, kinds, notebook, makePod, published, buildSnapshot, getStep } from '../../test/builders.ts';
import type { SnapshotParts } from '../../test/builders.ts';
import { WakeRequests } from './wake-requests.ts';

type Spec = Partial<Sandbox['spec']>;

const by = (who: string) => ({ annotations: { 'sandlot.dev/suspended-by': who } });
const UNTIL = NOW_MS + 5_000;

/** A Sandbox that is suspended by spec and status, with a request to wake it. */
function asleep(spec: Spec = {}, metadata: Sandbox['metadata'] = by('Idle')): SnapshotParts & { sandbox: Sandbox } {
  const sandbox = notebook({ metadata, spec: { operatingMode: 'Suspended', ...spec } });
  return { sandbox: { ...sandbox, status: getStatus(buildSnapshot({ sandbox })) }, wakeRequestUntilMs: UNTIL };
}

const expired = {
  status: 'False',
  reason: 'SandboxExpired',
  message: 'Sandbox has expired',
  lastTransitionTime: EARLIER,
} as const;
const running = buildSnapshot({ ownedPods: [makePod(notebook())] });
const pods = { ownedPods: [makePod(notebook())] };

/** The kinds of the steps of the next plan, and the answer to the request. */
function answer(parts: SnapshotParts): string[] {
  return decide(buildSnapshot(parts)).map((step) =>
    step.kind === 'answerWake' ? `answer: ${step.answer}` : step.kind,
  );
}

const resumed = ['resumeSandbox', 'answer: resumed'];

describe('a request to wake a Sandbox', () => {
  const rows: readonly (readonly [sentence: string, parts: SnapshotParts, answer: readonly string[]])[] = [
    ['resumes a Sandbox suspended for idleness', asleep(), resumed],
    ['resumes a Sandbox suspended by its startup action', asleep({}, by('Startup')), resumed],
    ['resumes a Sandbox suspended through the API', asleep({}, by('API')), resumed],
    ['does not resume a Sandbox that its owner suspended', asleep({}, {}), ['answer: owner']],
    ['does not resume a Sandbox with an unknown suspender', asleep({}, by('Somebody')), ['answer: owner']],
    ['resumes what its owner suspended when autoResume is Always', asleep({ autoResume: 'Always' }, {}), resumed],
    ['does not resume when autoResume is Never', asleep({ autoResume: 'Never' }), ['answer: never']],
    ['does not resume an expired Sandbox', asleep({ shutdownTime: EARLIER }), ['answer: expired']],
    [
      'does not resume a retained expired Sandbox whose deadline was moved, before a pass has revived it',
      { ...asleep(), sandbox: { ...asleep().sandbox, status: { conditions: [{ ...expired, type: 'Ready' }] } } },
      ['answer: expired'],
    ],
    [
      'does not resume a Sandbox that is being deleted',
      asleep({}, { ...by('Idle'), deletionTimestamp: EARLIER }),
      ['answer: deleting'],
    ],
    ['changes nothing while the Sandbox runs', { sandbox: published(running), wakeRequestUntilMs: UNTIL, ...pods }, []],
  ];
  it.each(rows)('%s', (_, parts, expected) => {
    expect(answer(parts)).toEqual(expected);
  });

  it('does nothing once it has lapsed', () => {
    expect(answer({ ...asleep(), wakeRequestUntilMs: undefined })).toEqual([]);
  });

  it.each([
    ['the mode', {}, { operatingMode: 'Running' }],
    ['replicas', { operatingMode: undefined, replicas: 0 }, { replicas: 1 }],
  ])('writes %s, removes the suspender and is guarded by resourceVersion', (_, spec, expected) => {
    const { sandbox } = asleep(spec);
    expect(getStep(decide(buildSnapshot(asleep(spec))), 'resumeSandbox').patch).toEqual({
      metadata: {
        uid: sandbox.metadata.uid,
        resourceVersion: sandbox.metadata.resourceVersion,
        annotations: { 'sandlot.dev/suspended-by': null },
      },
      spec: expected,
    });
  });
});

describe('a request that arrives while the Sandbox is being suspended', () => {
  const suspending = asleep();
  const pod = makePod(suspending.sandbox);
  const terminating = makePod(suspending.sandbox, { terminating: true });

  it('resumes it while its Pod is terminating', () => {
    const status = getStatus(buildSnapshot({ ...suspending, ownedPods: [terminating] }));
    const parts = { sandbox: { ...suspending.sandbox, status }, ownedPods: [terminating], wakeRequestUntilMs: UNTIL };
    expect(status.phase).toBe('Suspending');
    expect(answer(parts)).toEqual(resumed);
  });

  it('withdraws the suspension before the Pod is deleted, once the status shows the suspension', () => {
    const status = published(running).status;
    const fresh = { ...suspending.sandbox, metadata: { ...suspending.sandbox.metadata, generation: 2 }, status };
    const before = { sandbox: fresh, ownedPods: [pod], wakeRequestUntilMs: UNTIL };
    expect(answer({ ...before, wakeRequestUntilMs: undefined })).toEqual(['deletePod']);
    expect(answer(before)).toContain('patchStatus');
    const shown = { ...before, sandbox: { ...fresh, status: getStatus(buildSnapshot(before)) } };
    expect(answer(shown)).toEqual(resumed);
  });

  it('waits until the status records that the startup action has run', () => {
    const sandbox = notebook({
      metadata: by('Startup'),
      spec: { operatingMode: 'Suspended', startup: { action: 'SuspendAfterReady' } },
    });
    const parts = { sandbox, wakeRequestUntilMs: UNTIL };
    expect(answer(parts)).toContain('patchStatus');
    const status = getStatus(buildSnapshot(parts));
    expect(status.startup?.completedTime).toBeDefined();
    expect(answer({ ...parts, sandbox: { ...sandbox, status } })).toEqual(resumed);
  });
});

describe('idleness and a request to wake the Sandbox', () => {
  const idle = { suspendAfterSeconds: 60, deleteAfterSeconds: 600 };
  const sandbox = published(buildSnapshot({ sandbox: notebook({ spec: { idle } }), ...pods }));
  const late = { sandbox, ...pods, nowMs: NOW_MS + 60_000 };

  it('exclude each other: nothing is suspended or deleted while a request stands', () => {
    expect(kinds(buildSnapshot(late))).toEqual(['suspendSandbox']);
    expect(kinds(buildSnapshot({ ...late, wakeRequestUntilMs: late.nowMs + 5_000 }))).toEqual([]);
    expect(kinds(buildSnapshot({ ...late, nowMs: NOW_MS + 600_000, wakeRequestUntilMs: NOW_MS + 605_000 }))).toEqual(
      [],
    );
  });

  it('are decided again when the request lapses', () => {
    expect(requeueAtMs(buildSnapshot({ ...late, wakeRequestUntilMs: late.nowMs + 5_000 }))).toBe(late.nowMs + 5_000);
  });
});

describe('requests in memory', () => {
  const box = (uid: string, generation = 1, operatingMode: 'Running' | 'Suspended' = 'Suspended'): Sandbox => ({
    metadata: { uid, generation },
    spec: { podTemplate: { spec: { containers: [] } }, operatingMode },
  });

  it('are one for each Sandbox, lapse by themselves and end when answered', async () => {
    const clock = new FakeClock(NOW_MS);
    const requests = new WakeRequests(clock);
    requests.add('a');
    await clock.advance(3_000);
    requests.add('a');
    expect(requests.find(box('a'))?.untilMs).toBe(NOW_MS + 8_000);
    expect(requests.find(box('b'))).toBeUndefined();
    await clock.advance(5_000);
    expect(requests.find(box('a'))).toBeUndefined();
    requests.add('a');
    requests.remove('a');
    expect(requests.find(box('a'))).toBeUndefined();
  });

  it('are bounded: the oldest is dropped first', () => {
    const requests = new WakeRequests(new FakeClock(NOW_MS));
    for (let uid = 0; uid <= 10_000; uid += 1) requests.add(String(uid));
    expect([requests.find(box('0')), requests.find(box('1'))?.untilMs]).toEqual([undefined, NOW_MS + 5_000]);
  });

  it.each([
    ['counts for the suspension that the gateway saw', 4, box('a', 4), true],
    ['counts while the cache does not show that suspension yet', 4, box('a', 3, 'Running'), true],
    ['stands while the Sandbox runs', 4, box('a', 5, 'Running'), true],
    ['is too late for the next suspension', 4, box('a', 6), false],
    ['of an older release counts for each', undefined, box('a', 6), true],
  ])('of a generation %s', (_name, generation, sandbox, counts) => {
    const requests = new WakeRequests(new FakeClock(NOW_MS));
    requests.add('a', { generation });
    expect(requests.find(sandbox) !== undefined).toBe(counts);
  });
});
