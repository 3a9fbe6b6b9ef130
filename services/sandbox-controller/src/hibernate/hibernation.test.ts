import { sandboxes, sandboxSnapshots } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import type { FaultAnswer, RequestMatch } from '@sandlot/kube-testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KEY } from '../../test/harness.ts';
import { HibernationHarness } from '../../test/hibernation-harness.ts';
import { KEEP_RUNNING } from '../../test/hibernations.ts';

let h: HibernationHarness;
beforeEach(async () => {
  h = await HibernationHarness.start();
});
afterEach(() => h[Symbol.asyncDispose]());

/** One whole cycle of a Sandbox that runs; its memory is saved once, restored once, and gone at the end. */
async function cycle(before: string): Promise<string> {
  h.suspend();
  await h.hibernate();
  const [saved] = h.hibernations();
  h.wake();
  expect(await h.untilNextPod(before)).toBe(saved?.metadata.uid);
  await h.restore();
  expect(h.hibernations()).toEqual([]);
  expect(h.podUids()).toHaveLength(1);
  return h.pod()?.metadata.uid ?? '';
}

const aboutSnapshots = (): string[] =>
  h.api
    .requests()
    .filter(({ resource, verb }) => resource === 'sandboxsnapshots' && verb !== 'watch')
    .map(({ verb }) => verb);

describe('a Sandbox that hibernates', () => {
  it('is saved before its Pod goes, and goes on in the next one, again and again', async () => {
    await h.startHibernating();
    const first = await h.createReady();
    h.suspend();
    await h.untilSaving();
    await h.until(() => h.suspendedReason() === 'Hibernating', 'it says so');
    expect(h.pod()?.metadata.deletionTimestamp).toBeUndefined();
    h.wake();
    await h.until(() => h.hibernations()[0]?.metadata.deletionTimestamp !== undefined, 'the save is cancelled');
    h.releaseData();
    await h.untilReady();
    expect(h.podUids()).toEqual([first]);
    const second = await cycle(first);
    await cycle(second);
    expect(h.eventReasons()).toEqual(expect.arrayContaining(['Hibernated', 'Restored']));
  });

  it('writes one SandboxSnapshot, and its saved Pod gets no time to end', async () => {
    await h.startHibernating();
    await cycle(await h.createReady());
    expect(aboutSnapshots().filter((verb) => verb !== 'list')).toEqual(['create', 'delete']);
    const [deletion] = h.api.requests().filter(({ resource, verb }) => resource === 'pods' && verb === 'delete');
    expect(deletion?.body).toMatchObject({ gracePeriodSeconds: 1 });
  });

  it('is suspended again while its cancelled save still ends, and saved anew', async () => {
    await h.startHibernating();
    const first = await h.createReady();
    h.suspend();
    const { metadata } = await h.untilSaving();
    h.wake();
    await h.until(() => h.hibernations()[0]?.metadata.deletionTimestamp !== undefined, 'the save is cancelled');
    h.suspend();
    await h.until(() => h.suspendedReason() === 'Hibernating', 'it waits');
    h.releaseData();
    await h.until(
      () => (h.hibernations()[0]?.metadata.uid ?? metadata.uid) !== metadata.uid,
      'there is another attempt',
    );
    expect(h.podUids()).toEqual([first]);
    await h.hibernate();
  });

  it('that was saved at the moment of a wake is restored: the complete save is seen before it could be dropped', async () => {
    await h.startHibernating();
    const first = await h.createReady();
    h.suspend();
    const { metadata } = await h.untilSaving();
    await h.until(() => h.suspendedReason() === 'Hibernating', 'it waits');
    const stall = h.api.faults.stallWatches({ resource: 'sandboxsnapshots' });
    h.completeSave();
    h.wake();
    await h.until(() => aboutSnapshots().includes('delete'), 'it tried to drop the save');
    stall.end();
    await h.endPod();
    expect(await h.untilNextPod(first)).toBe(metadata.uid);
    await h.restore();
  });

  it('is restored although the cache does not show its memory yet', async () => {
    await h.startHibernating();
    const first = await h.createReady();
    h.suspend();
    await h.hibernate();
    const [saved] = h.hibernations();
    if (saved === undefined) throw new Error('it is not saved');
    h.api.remove(sandboxSnapshots, { ...KEY, name: saved.metadata.name ?? '' });
    await h.elapse(6_000);
    const stall = h.api.faults.stallWatches({ resource: 'sandboxsnapshots' });
    h.api.seed(sandboxSnapshots, saved);
    h.api.clearRequests();
    h.wake();
    expect(await h.untilNextPod(first)).toBe(saved.metadata.uid);
    expect(aboutSnapshots()).toEqual(['list']);
    const [second] = h.podUids();
    await h.elapse(2_000);
    expect([h.podUids(), h.pod()?.metadata.deletionTimestamp]).toEqual([[second], undefined]);
    stall.end();
    await h.restore();
  });

  it('never continues twice from one memory: a restored Pod that goes away begins anew', async () => {
    await h.startHibernating();
    const first = await h.createReady();
    h.suspend();
    await h.hibernate();
    h.wake();
    await h.untilNextPod(first);
    const second = h.pod()?.metadata.uid ?? '';
    const stall = h.api.faults.stallWatches({ resource: 'sandboxsnapshots' });
    h.settle('Restored');
    h.removePod();
    expect(await h.untilNextPod(second)).toBeUndefined();
    stall.end();
  });

  it('begins anew once after a restore that failed, and says what was lost', async () => {
    await h.startHibernating();
    const first = await h.createReady();
    h.suspend();
    await h.hibernate();
    h.wake();
    await h.untilNextPod(first);
    const second = h.pod()?.metadata.uid ?? '';
    h.settle('Failed', 'the image is damaged');
    await h.endPod();
    expect(await h.untilNextPod(second)).toBeUndefined();
    h.releaseData();
    await h.untilPodRuns();
    await h.until(() => h.eventReasons().includes('RestoreFailed'), 'an Event says so');
    expect(h.eventReasons().filter((reason) => reason === 'RestoreFailed')).toHaveLength(1);
  });

  it('keeps its Pod when the save fails and its owner wants that, and tries again when the failure is gone', async () => {
    await h.startHibernating();
    const first = await h.createReady(KEEP_RUNNING);
    h.suspend();
    await h.untilSaving();
    h.report({ phase: 'Failed' });
    await h.until(() => h.suspendedReason() === 'HibernationFailed', 'it says so');
    h.api.remove(sandboxSnapshots, { ...KEY, name: h.hibernations()[0]?.metadata.name ?? '' });
    expect(h.podUids()).toEqual([first]);
    await h.hibernate();
  });

  it('is stopped when a quota rejects its SandboxSnapshot', async () => {
    await h.startHibernating();
    await h.createReady();
    const match = { verb: 'create', resource: 'sandboxsnapshots' } as const;
    h.api.faults.failNext({ match, answer: { status: 403, reason: 'Forbidden' } });
    const reasons = new Set<string | undefined>();
    h.api.onChange(sandboxes, () => {
      const { phase, conditions } = h.status();
      if (phase === 'Suspended') reasons.add(conditions?.find(({ type }) => type === 'Ready')?.reason);
    });
    h.suspend();
    await h.endPod();
    await h.until(() => h.status().phase === 'Suspended', 'it is suspended');
    expect([h.hibernations(), [...reasons]]).toEqual([[], ['SandboxSuspended']]);
    await h.until(() => h.eventReasons().includes('HibernationFailed'), 'an Event says so');
  });

  it('is not saved into the SandboxSnapshot of another', async () => {
    await h.startHibernating();
    const first = await h.createReady(KEEP_RUNNING);
    h.suspend();
    const { metadata, spec } = await h.untilSaving();
    h.wake();
    await h.until(() => h.hibernations()[0]?.metadata.deletionTimestamp !== undefined, 'the save is cancelled');
    h.releaseData();
    const { namespace, name } = metadata;
    h.api.seed(sandboxSnapshots, { metadata: { namespace, name }, spec, status: { phase: 'Ready' } });
    h.suspend();
    await h.until(() => h.suspendedReason() === 'HibernationFailed', 'it says so');
    expect(h.podUids()).toEqual([first]);
  });
});

describe('a Sandbox that does not hibernate', () => {
  async function live(): Promise<void> {
    const first = await h.createReady({ suspensionStrategy: { type: 'Stop' } });
    h.suspend();
    await h.endPod();
    await h.until(() => h.status().phase === 'Suspended', 'it is suspended');
    h.wake();
    expect(await h.untilNextPod(first)).toBeUndefined();
    await h.untilPodRuns();
  }

  it('costs no request about SandboxSnapshots in an installation that hibernates', async () => {
    await h.startHibernating();
    h.api.clearRequests();
    await live();
    expect(aboutSnapshots()).toEqual([]);
  });

  it('costs not even a watch in one that does not', async () => {
    await h.startController();
    await live();
    expect(h.api.requests().filter(({ resource }) => resource === 'sandboxsnapshots')).toEqual([]);
  });
});

describe('a Sandbox hibernates and goes on', () => {
  const WRITES: readonly (readonly [string, RequestMatch])[] = [
    ['the creation of the SandboxSnapshot', { verb: 'create', resource: 'sandboxsnapshots' }],
    ['the deletion of the saved Pod', { verb: 'delete', resource: 'pods' }],
    ['the look for its memory', { verb: 'list', resource: 'sandboxsnapshots' }],
    ['the creation of its next Pod', { verb: 'create', resource: 'pods' }],
    ['the deletion of the SandboxSnapshot', { verb: 'delete', resource: 'sandboxsnapshots' }],
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
    const first = await h.createReady();
    h.api.faults.failNext({ match, answer: fault });
    await cycle(first);
  });

  it.each(WRITES.map(([write, match]) => ({ write, match })))(
    'when $write is committed and answered with an error',
    async ({ match }) => {
      await h.startHibernating();
      const first = await h.createReady();
      h.api.faults.errorAfterCommit({ match, answer: 'reset' });
      await cycle(first);
    },
  );

  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
    'when the controller dies after %i writes and another one takes over',
    async (writes) => {
      const one = await h.startHibernating();
      const first = await h.createReady();
      const death = h.api.faults.failAfterWrites(writes, { match: { user: 'sandbox-controller' } });
      const done = cycle(first);
      await h.elapse(2_000);
      await h.kill(one);
      death.end();
      await h.startHibernating();
      await done;
    },
  );

  it('when the watches drop and are answered 410', async () => {
    await h.startHibernating();
    const first = await h.createReady();
    h.api.faults.expireResourceVersions({ live: true });
    h.api.faults.dropWatches();
    await cycle(first);
  });
});

describe('an expired Sandbox', () => {
  it('drops its memory and does not get it back', async () => {
    await h.startHibernating();
    const first = await h.createReady();
    h.suspend();
    await h.hibernate();
    h.edit((spec) => (spec.shutdownTime = '2026-01-01T00:00:00Z'));
    await h.until(() => h.hibernations()[0]?.metadata.deletionTimestamp !== undefined, 'the memory is dropped');
    h.releaseData();
    h.edit((spec) => {
      delete spec.shutdownTime;
      spec.operatingMode = 'Running';
    });
    expect(await h.untilNextPod(first)).toBeUndefined();
    expect(h.api.objects(pods)).toHaveLength(1);
  });
});
