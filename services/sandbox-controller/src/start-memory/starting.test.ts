import { annotations, sandboxes, sandboxSnapshots } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import type { FaultAnswer, RequestMatch } from '@sandlot/kube-testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KEY } from '../../test/harness.ts';
import { HibernationHarness } from '../../test/hibernation-harness.ts';
import { HIBERNATE } from '../../test/hibernations.ts';

let h: HibernationHarness;
beforeEach(async () => {
  h = await HibernationHarness.start();
});
afterEach(() => h[Symbol.asyncDispose]());

const FAIL = { restoreFrom: { snapshotName: 'trained', onFailure: 'Fail' } } as const;
const BOOT = { restoreFrom: { snapshotName: 'trained', onFailure: 'Boot' } } as const;

const untilCopying = () => h.until(() => h.hibernations().length > 0, 'there is a copy');
const untilPod = () => h.until(() => h.pod() !== undefined, 'there is a Pod');
const untilRefused = () => h.until(() => h.readyReason() === 'RestoreFailed', 'it says why');
const getMark = (): string | undefined => h.pod()?.metadata.annotations?.[annotations.restoreSnapshot];
const getRecord = (): string | undefined => h.sandbox().metadata.annotations?.[annotations.startMemory];

const listWrites = (): string[] =>
  h.api
    .requests()
    .filter(({ verb }) => ['create', 'delete', 'get', 'list', 'patch'].includes(verb))
    .filter(({ resource }) => ['sandboxsnapshots', 'pods', 'sandboxes'].includes(resource))
    .map(({ verb, resource, subresource }) => [verb, resource, subresource].filter(Boolean).join(' '));

/** The copy is made, and the first Pod restored from it. */
async function begin(): Promise<void> {
  await untilCopying();
  const { metadata } = h.completeCopy();
  await untilPod();
  expect(getMark()).toBe(metadata.uid);
  await h.restore();
  expect([getRecord(), h.hibernations(), h.podUids().length]).toEqual(['restored', [], 1]);
}

describe('a Sandbox with restoreFrom', () => {
  it('waits for its copy, starts from it, and boots afterwards', async () => {
    await h.startHibernating();
    h.create(FAIL);
    await untilCopying();
    await h.until(() => h.readyReason() === 'DependenciesNotReady', 'it says that it waits');
    h.report({ phase: 'Saving' });
    await h.elapse(5_000);
    expect(h.podUids()).toEqual([]);
    await begin();
    const [first = ''] = h.podUids();
    h.removePod();
    expect(await h.untilNextPod(first)).toBeUndefined();
    expect([h.hibernations(), h.eventReasons()]).toEqual([[], expect.arrayContaining(['Restored'])]);
  });

  it('costs few requests', async () => {
    await h.startHibernating();
    h.create(FAIL);
    await begin();
    expect(listWrites()).toEqual([
      'create sandboxsnapshots',
      'patch sandboxes',
      'create pods',
      'patch sandboxes',
      'patch sandboxes',
      'delete sandboxsnapshots',
      'patch sandboxes status',
    ]);
  });

  it('gives its trace to the copy and to its hibernations', async () => {
    const trace = '{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}';
    const getTraces = (): unknown[] =>
      h.hibernations().map(({ metadata }) => metadata.annotations?.[annotations.traceContext]);
    await h.startHibernating();
    h.create({ ...FAIL, ...HIBERNATE, operatingMode: 'Suspended' });
    h.api.change(sandboxes, KEY, ({ metadata }) => void (metadata.annotations = { [annotations.traceContext]: trace }));
    h.wake();
    await untilCopying();
    expect(getTraces()).toEqual([trace]);
    await begin();
    h.suspend();
    await h.untilSaving();
    expect(getTraces()).toEqual([trace]);
  });

  it('is not Ready before its node confirms the restore', async () => {
    await h.startHibernating();
    h.create(FAIL);
    await untilCopying();
    h.completeCopy();
    await untilPod();
    h.settle('Announced');
    h.runPod();
    await h.elapse(5_000);
    expect(h.readyReason()).toBe('DependenciesNotReady');
    await h.restore();
  });

  it('hibernates like any other once it has started', async () => {
    await h.startHibernating();
    h.create({ ...FAIL, ...HIBERNATE });
    await begin();
    const [first = ''] = h.podUids();
    h.suspend();
    await h.hibernate();
    h.wake();
    expect(await h.untilNextPod(first)).toBe(h.hibernations()[0]?.metadata.uid);
    await h.restore();
  });

  it('makes no copy while it is suspended, and keeps the one that it has', async () => {
    await h.startHibernating();
    h.create({ ...FAIL, operatingMode: 'Suspended' });
    await h.until(() => h.status().phase === 'Suspended', 'it is suspended');
    await h.elapse(5_000);
    expect(h.hibernations()).toEqual([]);
    h.wake();
    await untilCopying();
    h.suspend();
    h.completeCopy();
    await h.elapse(5_000);
    expect([h.hibernations().length, h.podUids(), getRecord()]).toEqual([1, [], undefined]);
    h.wake();
    await begin();
  });

  it('leaves its copy to the next Pod when a drain takes the first one before it began', async () => {
    await h.startHibernating();
    h.create(FAIL);
    await untilCopying();
    const { metadata } = h.completeCopy();
    await untilPod();
    const [first = ''] = h.podUids();
    h.settle('Announced');
    h.removePod();
    await h.elapse(5_000);
    expect(h.podUids()).toEqual([]);
    h.report({
      restore: { podName: KEY.name, podUID: first, nodeName: 'node-1', state: 'Withdrawn', at: '2026-01-01T12:00:00Z' },
    });
    expect(await h.untilNextPod(first)).toBe(metadata.uid);
    await h.restore();
  });

  it('drops its copy when it expires while that is made', async () => {
    await h.startHibernating();
    h.create(FAIL);
    await untilCopying();
    h.report({ phase: 'Saving' });
    h.edit((spec) => (spec.shutdownTime = '2026-01-01T00:00:00Z'));
    await h.until(() => h.hibernations()[0]?.metadata.deletionTimestamp !== undefined, 'the copy is dropped');
    h.edit((spec) => delete spec.shutdownTime);
    await h.elapse(2_000);
    h.releaseData();
    await begin();
  });
});

describe('a Sandbox that cannot start from its snapshot', () => {
  const lose = async (): Promise<void> => {
    await untilCopying();
    const condition = { type: 'Ready', status: 'False', reason: 'SnapshotNotFound', message: 'there is none' } as const;
    h.report({ phase: 'Failed', conditions: [{ ...condition, lastTransitionTime: '2026-01-01T12:00:00Z' }] });
  };

  it('gets no Pod, says why, and stays so at every look', async () => {
    const one = await h.startHibernating();
    h.create(FAIL);
    await lose();
    await untilRefused();
    await h.until(() => h.hibernations()[0]?.metadata.deletionTimestamp !== undefined, 'the copy is dropped');
    h.releaseData();
    await h.kill(one);
    await h.startHibernating();
    h.suspend();
    await h.until(() => h.readyReason() === 'SandboxSuspended', 'it is suspended');
    h.wake();
    await untilRefused();
    await h.elapse(5_000);
    expect([h.podUids(), h.hibernations()]).toEqual([[], []]);
    const { message } = h.status().conditions?.find(({ type }) => type === 'Ready') ?? {};
    expect(message).toContain('there is none');
    expect(h.eventReasons()).toContain('RestoreFailed');
  });

  it('boots if it may, once, and says so', async () => {
    await h.startHibernating();
    h.create(BOOT);
    await lose();
    await untilPod();
    expect(getMark()).toBeUndefined();
    h.releaseData();
    await h.untilPodRuns();
    expect(h.eventReasons().filter((reason) => reason === 'RestoreFailed')).toHaveLength(1);
  });

  it.each([
    ['keeps none of its Pods', FAIL],
    ['boots another Pod if it may', BOOT],
  ])('%s when the restore fails', async (_, spec) => {
    await h.startHibernating();
    h.create(spec);
    await untilCopying();
    h.completeCopy();
    await untilPod();
    const [first = ''] = h.podUids();
    h.settle('Failed', 'the image is damaged');
    await h.endPod();
    if (spec === FAIL) {
      await untilRefused();
      await h.elapse(5_000);
      expect(h.podUids()).toEqual([]);
    } else {
      expect(await h.untilNextPod(first)).toBeUndefined();
      await h.untilPodRuns();
    }
    await h.until(() => h.eventReasons().includes('RestoreFailed'), 'an Event says so');
    expect(h.eventReasons().filter((reason) => reason === 'RestoreFailed')).toHaveLength(1);
  });

  it('has its memory lost when a user deletes the copy, and never copies again', async () => {
    await h.startHibernating();
    h.create(FAIL);
    await untilCopying();
    const { metadata } = h.completeCopy();
    await untilPod();
    h.api.remove(sandboxSnapshots, { ...KEY, name: metadata.name ?? '' });
    await h.endPod();
    await untilRefused();
    await h.elapse(5_000);
    expect([h.podUids(), h.hibernations()]).toEqual([[], []]);
  });

  it('boots at once where the API server rejects its copy, if it may', async () => {
    await h.startHibernating();
    h.api.faults.failNext({
      match: { verb: 'create', resource: 'sandboxsnapshots' },
      answer: { status: 403, reason: 'Forbidden' },
    });
    h.create(BOOT);
    await h.untilPodRuns();
    expect([h.hibernations(), getMark()]).toEqual([[], undefined]);
  });

  it('asks again where the API server rejects its copy, and says so', async () => {
    await h.startHibernating();
    const match = { verb: 'create', resource: 'sandboxsnapshots' } as const;
    h.api.faults.failNext({ match, answer: { status: 403, reason: 'Forbidden' } });
    const reasons = new Set<string | undefined>();
    h.api.onChange(sandboxes, () => reasons.add(h.readyReason()));
    h.create(FAIL);
    await begin();
    expect([...reasons]).toContain('ReconcilerError');
  });

  it('boots or not without a request about SandboxSnapshots where none are saved', async () => {
    await h.startController();
    h.create(FAIL);
    await untilRefused();
    h.api.remove(sandboxes, KEY);
    h.create(BOOT);
    await h.untilPodRuns();
    expect(h.api.requests().filter(({ resource }) => resource === 'sandboxsnapshots')).toEqual([]);
  });
});

describe('a Sandbox starts from its snapshot', () => {
  const WRITES: readonly (readonly [string, RequestMatch])[] = [
    ['the creation of the copy', { verb: 'create', resource: 'sandboxsnapshots' }],
    ['the record', { verb: 'patch', resource: 'sandboxes' }],
    ['the creation of its Pod', { verb: 'create', resource: 'pods' }],
    ['the deletion of the copy', { verb: 'delete', resource: 'sandboxsnapshots' }],
  ];
  const answers: readonly (readonly [string, FaultAnswer])[] = [
    ['a conflict', { status: 409, reason: 'Conflict' }],
    ['an overloaded server', { status: 500 }],
    ['a lost connection', 'reset'],
  ];
  const refused = WRITES.flatMap(([write, match]) =>
    answers.map(([answer, fault]) => ({ write, match, answer, fault })),
  );

  it.each(refused)('when $write meets $answer', async ({ match, fault }) => {
    await h.startHibernating();
    h.api.faults.failNext({ match, answer: fault });
    h.create(FAIL);
    await begin();
  });

  it.each(WRITES.map(([write, match]) => ({ write, match })))(
    'when $write is committed and answered with an error',
    async ({ match }) => {
      await h.startHibernating();
      h.api.faults.errorAfterCommit({ match, answer: 'reset' });
      h.create(FAIL);
      await begin();
    },
  );

  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
    'when the controller dies after %i writes and another one takes over',
    async (writes) => {
      const one = await h.startHibernating();
      const death = h.api.faults.failAfterWrites(writes, { match: { user: 'sandbox-controller' } });
      h.create(FAIL);
      const done = begin();
      await h.elapse(2_000);
      await h.kill(one);
      death.end();
      await h.startHibernating();
      await done;
      expect(h.api.objects(pods)).toHaveLength(1);
    },
  );

  it('when the watches drop and are answered 410', async () => {
    await h.startHibernating();
    h.create(FAIL);
    h.api.faults.expireResourceVersions({ live: true });
    h.api.faults.dropWatches();
    await begin();
  });

  it('when the cache does not show the Sandbox or its copy as they are', async () => {
    await h.startHibernating();
    h.create(FAIL);
    await untilCopying();
    h.completeCopy();
    await untilPod();
    const [first = ''] = h.podUids();
    const stalls = ['sandboxes', 'sandboxsnapshots'].map((resource) => h.api.faults.stallWatches({ resource }));
    h.settle('Restored');
    h.removePod();
    await h.elapse(10_000);
    expect(h.podUids()).toEqual([]);
    for (const stall of stalls) stall.end();
    await untilRefused();
    expect(first).not.toBe('');
  });
});
