import { describe, expect, it } from 'vitest';
import { decide } from '../decide.ts';
import { requeueAtMs } from '../lifetime/decide-requeue.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { getStatus } from '../status/status.ts';
import {
  NOW,
  NOW_MS,
  conditionSummary,
  kinds,
  notebook,
  makePod,
  published,
  buildSnapshot,
  getStep,
} from '../../test/builders.ts';
import type { PodParts } from '../../test/builders.ts';

type Spec = NonNullable<NonNullable<Parameters<typeof notebook>[0]>['spec']>;
type Policy = NonNullable<Spec['podFailurePolicy']>;

const onFailure: Policy = { restart: 'OnFailure', backoffSeconds: 5 };
const at = (seconds: number): string => new Date(NOW_MS + seconds * 1_000).toISOString().replace('.000', '');

/** A Sandbox with that policy whose Pod was Ready and has just ended; `count` restarts so far. */
function ended(policy: Policy, { phase = 'Failed', ...parts }: PodParts = {}, count?: number): Snapshot {
  const sandbox = notebook({ spec: { podFailurePolicy: policy } });
  const before = published(buildSnapshot({ sandbox, ownedPods: [makePod(sandbox)] }));
  const restarts = count === undefined ? undefined : { count };
  const status = { ...before.status, ...(restarts === undefined ? {} : { restarts }) };
  return buildSnapshot({ sandbox: { ...before, status }, ownedPods: [makePod(sandbox, { phase, ...parts })] });
}

/** The same once its status has been published, `seconds` later. */
function later(snapshot: Snapshot, seconds: number, parts: Partial<Snapshot> = {}): Snapshot {
  return { ...snapshot, sandbox: published(snapshot), nowMs: NOW_MS + seconds * 1_000, ...parts };
}

describe('a Pod that ended', () => {
  const rows: readonly (readonly [sentence: string, snapshot: Snapshot, phase: string])[] = [
    ['stays without a policy', ended({}), 'Finished'],
    ['stays when the policy is Never', ended({ restart: 'Never' }), 'Finished'],
    ['is restarted after a failure when the policy is OnFailure', ended(onFailure), 'Restarting'],
    ['stays after a success when the policy is OnFailure', ended(onFailure, { phase: 'Succeeded' }), 'Finished'],
    [
      'is restarted after a success when the policy is Always',
      ended({ restart: 'Always' }, { phase: 'Succeeded' }),
      'Restarting',
    ],
    ['is restarted once more below the limit', ended({ ...onFailure, maxRestarts: 3 }, {}, 2), 'Restarting'],
    ['stays at the limit', ended({ ...onFailure, maxRestarts: 3 }, {}, 3), 'Finished'],
    ['stays after five restarts when no limit is given', ended(onFailure, {}, 5), 'Finished'],
    ['is restarted for ever when the limit is 0', ended({ ...onFailure, maxRestarts: 0 }, {}, 900), 'Restarting'],
    ['is not restarted when a user deletes it', ended(onFailure, { terminating: true }), 'Pending'],
  ];
  it.each(rows)('%s', (_, snapshot, phase) => {
    const next = getStatus(snapshot);
    expect(next.phase).toBe(phase);
    expect(next.restarts?.nextRestartTime !== undefined).toBe(phase === 'Restarting');
  });

  it('has not finished while it waits for its restart', () => {
    expect(conditionSummary(ended(onFailure))).toEqual([
      'PodScheduled=True/PodScheduled',
      'Ready=False/PodFailed',
      'Suspended=False/NotSuspended',
    ]);
  });

  it('has not finished while the controller deletes it for the restart', () => {
    const waiting = ended(onFailure);
    const going = later(waiting, 5, { ownedPods: [makePod(waiting.sandbox, { phase: 'Failed', terminating: true })] });
    expect(conditionSummary(going)).toContain('Ready=False/PodFailed');
    expect(kinds(going)).toEqual([]);
  });

  it('finishes when its owner takes the policy away', () => {
    const waiting = later(ended(onFailure), 1);
    const sandbox = { ...waiting.sandbox, spec: { ...waiting.sandbox.spec, podFailurePolicy: undefined } };
    const next = getStatus({ ...waiting, sandbox });
    expect([next.phase, next.restarts?.nextRestartTime]).toEqual(['Finished', undefined]);
  });

  it('that finished is restarted when its owner gives it a policy', () => {
    const finished = later(ended({}), 60);
    const sandbox = { ...finished.sandbox, spec: { ...finished.sandbox.spec, podFailurePolicy: onFailure } };
    const next = getStatus({ ...finished, sandbox });
    expect([next.phase, next.restarts?.nextRestartTime]).toEqual(['Restarting', at(65)]);
  });
});

describe('the record of an exit', () => {
  const exit = { finishedAt: '2026-01-01T11:59:58Z', reason: 'OOMKilled', exitCode: 137 };
  it('has the reason and the time of the container', () => {
    expect(getStatus(ended(onFailure, { exit })).restarts).toEqual({
      lastReason: 'OOMKilled',
      lastExitTime: exit.finishedAt,
      nextRestartTime: '2026-01-01T12:00:03Z',
    });
  });

  it('has the time of the pass when the containers have none', () => {
    const waiting = ended(onFailure);
    expect(getStatus(waiting).restarts).toEqual({ lastReason: 'PodFailed', lastExitTime: NOW, nextRestartTime: at(5) });
    expect(getStatus(later(waiting, 3)).restarts).toEqual(getStatus(waiting).restarts);
  });

  it('is written at the limit, too', () => {
    const restarts = { count: 5, lastReason: 'OOMKilled', lastExitTime: exit.finishedAt };
    const finished = ended(onFailure, { exit }, 5);
    expect(getStatus(finished).restarts).toEqual(restarts);
    expect(getStatus(later(finished, 60)).restarts).toEqual(restarts);
  });
});

describe('the delay', () => {
  const computeDelay = (policy: Policy, count: number): number => {
    const { nextRestartTime = '' } =
      getStatus(ended({ restart: 'Always', maxRestarts: 0, ...policy }, {}, count)).restarts ?? {};
    return (Date.parse(nextRestartTime) - NOW_MS) / 1_000;
  };

  it.each([
    ['starts with backoffSeconds', { backoffSeconds: 20 }, 0, 20],
    ['doubles with every restart', { backoffSeconds: 20 }, 3, 160],
    ['is at most maxBackoffSeconds', { backoffSeconds: 20, maxBackoffSeconds: 100 }, 3, 100],
    ['does not overflow', {}, 2_000, 300],
    ['is 10 s by default', {}, 0, 10],
  ])('%s, give or take a tenth', (...[, policy, count, seconds]) => {
    expect(Math.abs(computeDelay(policy, count) - seconds)).toBeLessThanOrEqual(seconds / 10);
  });

  it('differs between restarts and is the same for every pass over one', () => {
    const delays = Array.from({ length: 20 }, (_, count) =>
      computeDelay({ backoffSeconds: 100, maxBackoffSeconds: 100 }, count),
    );
    expect(new Set(delays).size).toBeGreaterThan(5);
    expect(computeDelay({ backoffSeconds: 100 }, 0)).toBe(delays[0]);
  });

  it('is never early: the Pod is deleted at the published time, not a millisecond before', () => {
    const due = later(ended(onFailure), 5);
    expect(requeueAtMs({ ...due, nowMs: NOW_MS })).toBe(NOW_MS + 5_000);
    expect(kinds({ ...due, nowMs: due.nowMs - 1 })).not.toContain('deletePod');
    expect(kinds(due)).toEqual(['deletePod']);
  });
});

describe('the count of restarts', () => {
  it('grows when the Pod is gone, before the next one is created', () => {
    const gone = later(ended(onFailure, {}, 1), 20, { ownedPods: [] });
    const plan = decide(gone);
    expect(getStep(plan, 'patchStatus').patch).toMatchObject({
      status: { restarts: { count: 2, nextRestartTime: null } },
    });
    expect(getStatus(gone).phase).toBe('Restarting');
    expect(plan.map(({ kind }) => kind)).not.toContain('createPod');
    expect(kinds({ ...gone, sandbox: published(gone) })).toEqual(['createPod']);
  });

  it('does not grow when the Sandbox is suspended meanwhile', () => {
    const waiting = later(ended(onFailure, {}, 1), 20, { ownedPods: [] });
    const sandbox = { ...waiting.sandbox, spec: { ...waiting.sandbox.spec, operatingMode: 'Suspended' as const } };
    expect(getStatus({ ...waiting, sandbox }).restarts).toMatchObject({ count: 1 });
    expect(getStatus({ ...waiting, sandbox }).restarts?.nextRestartTime).toBeUndefined();
  });

  it('returns to 0 after resetAfterSeconds of unbroken Ready, and not before', () => {
    const { sandbox } = ended({ ...onFailure, resetAfterSeconds: 30 }, {}, 4);
    const ready = buildSnapshot({ sandbox, ownedPods: [makePod(sandbox)] });
    expect(requeueAtMs(ready)).toBe(NOW_MS + 30_000);
    expect(getStatus({ ...ready, nowMs: NOW_MS + 29_999 }).restarts).toEqual({ count: 4 });
    expect(getStatus({ ...ready, nowMs: NOW_MS + 30_000 }).restarts).toBeUndefined();
  });

  it('is 0 for an exit after that time that only this pass sees', () => {
    const policy = { ...onFailure, maxRestarts: 1, resetAfterSeconds: 30 };
    const exit = (second: number) => ({ finishedAt: at(second), reason: 'Error', exitCode: 1 });
    const seen = (second: number) => getStatus({ ...ended(policy, { exit: exit(second) }, 1), nowMs: NOW_MS + 90_000 });
    expect([seen(29).phase, seen(30).phase]).toEqual(['Finished', 'Restarting']);
  });
});

describe('Events of a restart', () => {
  const notes = (snapshot: Snapshot): string[] =>
    decide(snapshot).flatMap((step) => (step.kind === 'recordEvent' ? [`${step.note.type} ${step.note.reason}`] : []));
  it('are recorded once', () => {
    expect(notes(ended(onFailure))).toEqual(['Normal PodRestarting']);
    expect(notes(later(ended(onFailure), 1))).toEqual([]);
  });
  it('warn at the limit', () => {
    expect(notes(ended(onFailure, {}, 5))).toEqual(['Warning PodRestartLimit']);
  });
});
