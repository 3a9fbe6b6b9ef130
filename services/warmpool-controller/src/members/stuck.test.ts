import type { SandboxStatus } from '@sandlot/api-types';
import { sandbox } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { ago, conditionOf, creates, deletes, member, members, snapshot, statusOf, steps } from '../../test/builders.ts';
import type { SnapshotParts } from '../../test/builders.ts';
import { decide } from '../decide.ts';
import { ailmentOf } from './stuck.ts';

const NO_ROOM = '0/1 nodes are available: 1 Insufficient memory.';
const late = { ready: false, created: ago(301) };
const homeless = { ...late, unschedulable: NO_ROOM };
const replace = { stuckMember: { unschedulable: 'Replace' } } as const;

describe('a member that is not Ready', () => {
  it.each<readonly [string, SnapshotParts, string[]]>([
    ['is kept for five minutes', { members: members(3, { ready: false, created: ago(299) }) }, []],
    ['is replaced after five minutes', { members: [...members(2), member('late', late)] }, ['late']],
    [
      'is replaced after the grace of its pool',
      { spec: { stuckMember: { graceSeconds: 10 } }, members: [member('late', { ready: false, created: ago(11) })] },
      ['late'],
    ],
    [
      'counts from when it was Ready last',
      { members: [member('late', { ready: false, created: ago(900), changed: ago(200) })] },
      [],
    ],
    [
      'is replaced when it was Ready last too long ago',
      { members: [member('late', { ready: false, created: ago(900), changed: ago(301) })] },
      ['late'],
    ],
    ['is kept where it waits for room', { members: [member('late', homeless)] }, []],
    [
      'is replaced where it waits for room and the pool says so',
      { spec: replace, members: [member('late', homeless)] },
      ['late'],
    ],
    [
      'is replaced where it waits for room of an earlier template',
      { members: [member('late', { ...homeless, current: false })] },
      ['late'],
    ],
    [
      'is kept where it waits for room and the template is missing',
      { members: [member('late', { ...homeless, current: false })], template: undefined },
      [],
    ],
    [
      'is replaced at once when its pod has ended',
      { members: [member('ended', { ready: false, finished: true })] },
      ['ended'],
    ],
  ])('%s', (_, parts, gone) => {
    expect(deletes(decide(snapshot(parts)))).toEqual(gone);
  });

  it.each<readonly [string, SnapshotParts, number]>([
    [
      'when its grace is over and two seconds more',
      { replicas: 1, members: [member('a', { ready: false, created: ago(100) })] },
      202_000,
    ],
    [
      'up to half as late again, so that pools do not look all at once',
      { replicas: 1, members: [member('a', { ready: false, created: ago(100) })], jitter: 0.5 },
      252_500,
    ],
    ['every minute while it is held', { replicas: 1, members: [member('a', homeless)] }, 60_000],
    [
      'when the status is to say why',
      { replicas: 1, members: [member('a', { ready: false, created: ago(3) })] },
      7_000,
    ],
  ])('is looked at again %s', (_, parts, ms) => {
    expect(steps(decide(snapshot(parts)), 'wait').map((step) => step.ms)).toContain(ms);
  });
});

describe('what keeps a member from being Ready', () => {
  const at = '2026-01-01T00:00:00Z';
  const ready = (reason: string, message: string) => ({
    type: 'Ready',
    status: 'False' as const,
    reason,
    message,
    lastTransitionTime: at,
  });
  const scheduled = (status: 'True' | 'False', reason: string, message = '') => ({
    type: 'PodScheduled',
    status,
    reason,
    message,
    lastTransitionTime: at,
  });
  const pending = ready('DependenciesNotReady', 'Pod exists with phase: Pending');
  it.each<readonly [string, SandboxStatus | undefined, string, RegExp]>([
    [
      'is told in the words of the scheduler',
      { phase: 'Pending', conditions: [scheduled('False', 'Unschedulable', NO_ROOM), pending] },
      'Unschedulable',
      /^0\/1 nodes/,
    ],
    [
      'is a disk when the scheduler says so',
      {
        conditions: [scheduled('False', 'Unschedulable', 'pod has unbound immediate PersistentVolumeClaims'), pending],
      },
      'Unschedulable',
      /PersistentVolumeClaims/,
    ],
    [
      'is its containers when the pod has a node',
      { phase: 'Pending', conditions: [scheduled('True', 'PodScheduled'), pending] },
      'ContainersNotStarted',
      /Events for images and volumes/,
    ],
    [
      'is an error of the sandbox-controller',
      { conditions: [ready('ReconcilerError', 'Error seen: pods "x" is forbidden')] },
      'ReconcilerError',
      /forbidden/,
    ],
    [
      'is a probe when the pod runs',
      {
        phase: 'Running',
        conditions: [scheduled('True', 'PodScheduled'), ready('DependenciesNotReady', 'Pod is Running but not Ready')],
      },
      'DependenciesNotReady',
      /not Ready/,
    ],
    ['is that nobody looks at it', undefined, 'NotStarted', /sandbox-controller/],
  ])('%s', (...[, status, reason, message]) => {
    const ailment = ailmentOf(sandbox({ status }));
    expect(ailment.reason).toBe(reason);
    expect(ailment.message).toMatch(message);
  });
});

describe('a pool with stuck members', () => {
  const stuck: SnapshotParts = { members: [...members(1), member('a', homeless), member('b', homeless)] };
  const notes = (parts: SnapshotParts): string[] =>
    steps(decide(snapshot(parts)), 'note').map(({ type, reason }) => `${type} ${reason}`);

  it('says how many, why, and where to look', () => {
    expect(conditionOf(stuck, 'Progressing')).toMatchObject({
      status: 'False',
      reason: 'WarmPoolNotProgressing',
      message: `3 members, 1 Ready, 3 wanted; not Ready: 2 Unschedulable (${NO_ROOM}). Their Pods carry the label agents.x-k8s.io/warm-pool-sandbox=91dd7983`,
    });
  });

  it('says why members wait before they count as stuck', () => {
    const waiting = {
      members: [...members(2), member('a', { ready: false, created: ago(20), unschedulable: NO_ROOM })],
    };
    expect(conditionOf(waiting, 'Progressing')).toMatchObject({
      status: 'True',
      reason: 'ScalingUp',
      message: `3 members, 2 Ready, 3 wanted; not Ready: 1 Unschedulable (${NO_ROOM})`,
    });
  });

  it('warns once, and says once that it goes on', () => {
    expect(notes(stuck)).toEqual(['Warning WarmPoolNotProgressing']);
    const lastStatus = statusOf(stuck);
    expect(notes({ ...stuck, lastStatus })).toEqual([]);
    expect(notes({ members: members(3), lastStatus })).toEqual(['Normal WarmPoolProgressing']);
  });

  it('is not progressing while it only replaces them', () => {
    const lastStatus = statusOf({ members: [member('a', late)] });
    const replaced = { members: members(3, { ready: false }), lastStatus };
    expect(conditionOf(replaced, 'Progressing')?.reason).toBe('WarmPoolNotProgressing');
    expect(notes(replaced)).toEqual([]);
    const recovered = { members: [...members(1), ...members(2, { ready: false }, 'n')], lastStatus };
    expect(conditionOf(recovered, 'Progressing')?.reason).toBe('ScalingUp');
    expect(notes(recovered)).toEqual(['Normal WarmPoolProgressing']);
  });
});

describe('members that end soon after they were made', () => {
  const blames = (parts: SnapshotParts): number => steps(decide(snapshot(parts)), 'blame').length;

  it('are held against the template, older ones and those of an earlier template are not', () => {
    expect(blames({ members: [member('a', { ready: false, finished: true, created: ago(59) })] })).toBe(1);
    expect(blames({ members: [member('a', { ready: false, finished: true, created: ago(60) })] })).toBe(0);
    expect(blames({ members: [member('a', { ready: false, finished: true, created: ago(5), current: false })] })).toBe(
      0,
    );
  });

  it('are followed by others only after a pause, and the third time it is told', () => {
    const trouble = { code: 'ShortLived', message: 'Members end', attempt: 3, untilMs: 1_000_500, subject: '' };
    const parts = { memory: { trouble } };
    expect(creates(decide(snapshot(parts)))).toBe(0);
    expect(conditionOf(parts, 'Progressing')).toMatchObject({
      status: 'False',
      message: 'Members end. Tried again with growing pauses',
    });
    expect(creates(decide(snapshot({ memory: { trouble: { ...trouble, untilMs: 999_999 } } })))).toBe(3);
  });
});
