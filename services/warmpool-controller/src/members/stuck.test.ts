import type { SandboxStatus } from '@sandlot/api-types';
import { sandbox } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import {
  ago,
  findCondition,
  creates,
  deletes,
  member,
  members,
  snapshot,
  getStatus,
  steps,
} from '../../test/builders.ts';
import type { SnapshotParts } from '../../test/builders.ts';
import { decide } from '../decide.ts';
import { buildNotReadyCause } from './not-ready.ts';

const NO_ROOM = '0/1 nodes are available: 1 Insufficient memory.';
const late = { ready: false, created: ago(301) };
const unschedulable = { ...late, unschedulable: NO_ROOM };
const replace = { stuckMember: { unschedulable: 'Replace' } } as const;

describe('a member that is not Ready', () => {
  it.each<readonly [string, SnapshotParts, string[]]>([
    ['is kept for the default grace of five minutes', { members: members(3, { ready: false, created: ago(299) }) }, []],
    ['is replaced after the default grace', { members: [...members(2), member('late', late)] }, ['late']],
    [
      'is replaced after the graceSeconds of its pool',
      { spec: { stuckMember: { graceSeconds: 10 } }, members: [member('late', { ready: false, created: ago(11) })] },
      ['late'],
    ],
    [
      'is kept when it was Ready within the grace',
      { members: [member('late', { ready: false, created: ago(900), changed: ago(200) })] },
      [],
    ],
    [
      'is replaced when it was last Ready before the grace',
      { members: [member('late', { ready: false, created: ago(900), changed: ago(301) })] },
      ['late'],
    ],
    ['is kept while it is unschedulable', { members: [member('late', unschedulable)] }, []],
    [
      'is replaced while it is unschedulable under Replace',
      { spec: replace, members: [member('late', unschedulable)] },
      ['late'],
    ],
    [
      'is replaced while it is unschedulable and stale',
      { members: [member('late', { ...unschedulable, current: false })] },
      ['late'],
    ],
    [
      'is kept while it is unschedulable and the template is missing',
      { members: [member('late', { ...unschedulable, current: false })], template: undefined },
      [],
    ],
    [
      'is replaced at once when its Pod ended',
      { members: [member('ended', { ready: false, finished: true })] },
      ['ended'],
    ],
  ])('%s', (_, parts, gone) => {
    expect(deletes(decide(snapshot(parts)))).toEqual(gone);
  });

  it.each<readonly [string, SnapshotParts, number]>([
    [
      'two seconds after its grace',
      { replicas: 1, members: [member('a', { ready: false, created: ago(100) })] },
      202_000,
    ],
    [
      'up to half as much later, so that many pools do not check at once',
      { replicas: 1, members: [member('a', { ready: false, created: ago(100) })], jitter: 0.5 },
      252_500,
    ],
    ['every minute while Hold keeps it', { replicas: 1, members: [member('a', unschedulable)] }, 60_000],
    [
      'when the status starts to say why',
      { replicas: 1, members: [member('a', { ready: false, created: ago(3) })] },
      7_000,
    ],
  ])('requeues the pool %s', (_, parts, ms) => {
    expect(steps(decide(snapshot(parts)), 'requeue').map((step) => step.afterMs)).toContain(ms);
  });
});

describe('the cause why a member is not Ready', () => {
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
      'is the message of the scheduler',
      { phase: 'Pending', conditions: [scheduled('False', 'Unschedulable', NO_ROOM), pending] },
      'Unschedulable',
      /^0\/1 nodes/,
    ],
    [
      'is a volume when the scheduler says so',
      {
        conditions: [scheduled('False', 'Unschedulable', 'pod has unbound immediate PersistentVolumeClaims'), pending],
      },
      'Unschedulable',
      /PersistentVolumeClaims/,
    ],
    [
      'is the containers once the Pod has a node',
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
      'is the readiness probe once the Pod runs',
      {
        phase: 'Running',
        conditions: [scheduled('True', 'PodScheduled'), ready('DependenciesNotReady', 'Pod is Running but not Ready')],
      },
      'DependenciesNotReady',
      /not Ready/,
    ],
    ['is a missing status: the sandbox-controller may not run', undefined, 'NotStarted', /sandbox-controller/],
  ])('%s', (...[, status, reason, message]) => {
    const cause = buildNotReadyCause(sandbox({ status }));
    expect(cause.reason).toBe(reason);
    expect(cause.message).toMatch(message);
  });
});

describe('a pool with stuck members', () => {
  const stuck: SnapshotParts = { members: [...members(1), member('a', unschedulable), member('b', unschedulable)] };
  const events = (parts: SnapshotParts): string[] =>
    steps(decide(snapshot(parts)), 'event').map(({ type, reason }) => `${type} ${reason}`);

  it('reports how many, why, and where to look', () => {
    expect(findCondition(stuck, 'Progressing')).toMatchObject({
      status: 'False',
      reason: 'WarmPoolNotProgressing',
      message: `3 members, 1 Ready, 3 wanted; not Ready: 2 Unschedulable (${NO_ROOM}). Their Pods carry the label agents.x-k8s.io/warm-pool-sandbox=91dd7983`,
    });
  });

  it('reports why members are not Ready before they count as stuck', () => {
    const waiting = {
      members: [...members(2), member('a', { ready: false, created: ago(20), unschedulable: NO_ROOM })],
    };
    expect(findCondition(waiting, 'Progressing')).toMatchObject({
      status: 'True',
      reason: 'ScalingUp',
      message: `3 members, 2 Ready, 3 wanted; not Ready: 1 Unschedulable (${NO_ROOM})`,
    });
  });

  it('sends one Warning, and one Event when it progresses again', () => {
    expect(events(stuck)).toEqual(['Warning WarmPoolNotProgressing']);
    const lastStatus = getStatus(stuck);
    expect(events({ ...stuck, lastStatus })).toEqual([]);
    expect(events({ members: members(3), lastStatus })).toEqual(['Normal WarmPoolProgressing']);
  });

  it('does not progress by replacing stuck members, only when another member is Ready', () => {
    const lastStatus = getStatus({ members: [member('a', late)] });
    const replaced = { members: members(3, { ready: false }), lastStatus };
    expect(findCondition(replaced, 'Progressing')?.reason).toBe('WarmPoolNotProgressing');
    expect(events(replaced)).toEqual([]);
    const recovered = { members: [...members(1), ...members(2, { ready: false }, 'n')], lastStatus };
    expect(findCondition(recovered, 'Progressing')?.reason).toBe('ScalingUp');
    expect(events(recovered)).toEqual(['Normal WarmPoolProgressing']);
  });
});

describe('members whose Pods end soon after their creation', () => {
  const shortLived = (parts: SnapshotParts): number => steps(decide(snapshot(parts)), 'recordShortLived').length;

  it('start a back-off; older members and stale ones do not', () => {
    expect(shortLived({ members: [member('a', { ready: false, finished: true, created: ago(59) })] })).toBe(1);
    expect(shortLived({ members: [member('a', { ready: false, finished: true, created: ago(60) })] })).toBe(0);
    expect(
      shortLived({ members: [member('a', { ready: false, finished: true, created: ago(5), current: false })] }),
    ).toBe(0);
  });

  it('are replaced after the back-off, and the third attempt is reported', () => {
    const backoff = { code: 'ShortLived', message: 'Members end', attempt: 3, untilMs: 1_000_500, subject: '' };
    const parts = { history: { backoff } };
    expect(creates(decide(snapshot(parts)))).toBe(0);
    expect(findCondition(parts, 'Progressing')).toMatchObject({
      status: 'False',
      message: 'Members end. Tried again with growing pauses',
    });
    expect(creates(decide(snapshot({ history: { backoff: { ...backoff, untilMs: 999_999 } } })))).toBe(3);
  });
});
