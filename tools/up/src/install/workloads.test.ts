import { describe, expect, it } from 'vitest';
import { isRolledOut, troublesOf } from './workloads.ts';

const pod = (status: object) => ({ metadata: { name: 'p' }, status });
const waiting = (reason: string, restartCount = 0) =>
  pod({ containerStatuses: [{ name: 'c', restartCount, state: { waiting: { reason, message: 'm' } } }] });

const unschedulable = pod({
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'm' }],
});

describe('troubles of a pod', () => {
  it.each([
    ['an image that cannot be pulled', waiting('ImagePullBackOff'), { reason: 'ImagePullBackOff', hopeless: true }],
    ['a failed pull', waiting('ErrImagePull'), { reason: 'ErrImagePull', hopeless: true }],
    ['a crash that may pass', waiting('CrashLoopBackOff', 1), { reason: 'CrashLoopBackOff', hopeless: false }],
    [
      'a crash that comes again and again',
      waiting('CrashLoopBackOff', 3),
      { reason: 'CrashLoopBackOff', hopeless: true },
    ],
    [
      'a missing Secret',
      waiting('CreateContainerConfigError'),
      { reason: 'CreateContainerConfigError', hopeless: true },
    ],
    ['no node with room', unschedulable, { reason: 'Unschedulable', hopeless: false }],
  ])('%s', (_, given, trouble) => {
    expect(troublesOf(given)).toEqual([{ pod: 'p', message: 'm', ...trouble }]);
  });

  it('name how the container ended last', () => {
    const lastState = { terminated: { reason: 'OOMKilled', exitCode: 137 } };
    const state = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } };
    const [trouble] = troublesOf(pod({ containerStatuses: [{ name: 'c', restartCount: 1, state, lastState }] }));
    expect(trouble?.message).toBe('back-off (last exit: OOMKilled 137)');
  });

  it.each([
    ['nothing known', { metadata: { name: 'p' } }],
    ['starting', waiting('ContainerCreating')],
  ])('are none while %s', (_, given) => {
    expect(troublesOf(given)).toEqual([]);
  });
});

describe('a rollout', () => {
  const done = { name: 'w', desired: 2, total: 2, updated: 2, ready: 2, observed: true };

  it.each([
    ['is over when every replica runs the newest spec and is ready', {}, true],
    ['goes on while a replica is not ready', { ready: 1 }, false],
    ['goes on while a replica is old', { updated: 1 }, false],
    ['goes on while an old pod serves in place of a new one', { total: 3 }, false],
    ['goes on until the newest spec was seen', { observed: false }, false],
  ])('%s', (_, difference, over) => {
    expect(isRolledOut({ ...done, ...difference })).toBe(over);
  });
});
