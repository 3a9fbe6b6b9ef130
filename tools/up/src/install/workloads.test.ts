import { describe, expect, it } from 'vitest';
import { buildWorkload, isRolledOut, listTroubles } from './workloads.ts';

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
    ['a first crash', waiting('CrashLoopBackOff', 1), { reason: 'CrashLoopBackOff', hopeless: false }],
    ['repeated crashes', waiting('CrashLoopBackOff', 3), { reason: 'CrashLoopBackOff', hopeless: true }],
    [
      'a missing Secret',
      waiting('CreateContainerConfigError'),
      { reason: 'CreateContainerConfigError', hopeless: true },
    ],
    ['a pod that fits on no node', unschedulable, { reason: 'Unschedulable', hopeless: false }],
  ])('report %s', (_, given, trouble) => {
    expect(listTroubles(given)).toEqual([{ pod: 'p', message: 'm', ...trouble }]);
  });

  it('include the reason of the last exit', () => {
    const lastState = { terminated: { reason: 'OOMKilled', exitCode: 137 } };
    const state = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } };
    const [trouble] = listTroubles(pod({ containerStatuses: [{ name: 'c', restartCount: 1, state, lastState }] }));
    expect(trouble?.message).toBe('back-off (last exit: OOMKilled 137)');
  });

  it.each([
    ['without a status', { metadata: { name: 'p' } }],
    ['whose containers are being created', waiting('ContainerCreating')],
  ])('are empty for a pod %s', (_, given) => {
    expect(listTroubles(given)).toEqual([]);
  });
});

describe('a DaemonSet', () => {
  const status = { desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2, numberReady: 2 };
  const build = (difference: object) =>
    buildWorkload({ kind: 'DaemonSet', metadata: { name: 'n' }, spec: {}, status: { ...status, ...difference } });

  it.each([
    ['is rolled out when every node has a new Pod that is ready', {}, true],
    [
      'is rolled out when it is for no node',
      { desiredNumberScheduled: 0, currentNumberScheduled: 0, updatedNumberScheduled: 0, numberReady: 0 },
      true,
    ],
    ['is not while the Pod of a node is not ready', { numberReady: 1 }, false],
    ['is not while the Pod of a node has an old spec', { updatedNumberScheduled: 1 }, false],
    ['is not while no controller has counted the nodes', { desiredNumberScheduled: undefined }, false],
  ])('%s', (_, difference, over) => {
    expect(isRolledOut(build(difference))).toBe(over);
  });
});

describe('a rollout', () => {
  const done = { name: 'w', desired: 2, total: 2, updated: 2, ready: 2, observed: true };

  it.each([
    ['ends when every replica runs the newest spec and is ready', {}, true],
    ['continues while a replica is not ready', { ready: 1 }, false],
    ['continues while a replica runs an old spec', { updated: 1 }, false],
    ['continues while an old pod still runs', { total: 3 }, false],
    ['continues until the controller manager has observed the newest spec', { observed: false }, false],
  ])('%s', (_, difference, over) => {
    expect(isRolledOut({ ...done, ...difference })).toBe(over);
  });
});
