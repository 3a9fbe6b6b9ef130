import { sandboxes } from '@sandlot/api-types';
import { events, pods } from '@sandlot/kube';
import { systemClock } from '@sandlot/std';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness, KEY } from '../../test/harness.ts';
import { WORK } from '../../test/builders.ts';

type TestController = Awaited<ReturnType<Harness['startController']>>;

let h: Harness;
beforeEach(async () => {
  h = await Harness.start();
});
afterEach(() => h[Symbol.asyncDispose]());

async function startReady(spec: Parameters<Harness['create']>[0]): Promise<TestController> {
  const controller = await h.startController();
  h.create(spec);
  await h.until(() => h.pod() !== undefined, 'there is a Pod');
  h.runPod();
  await h.untilReady();
  return controller;
}

/** The kubelet reports that the Pod failed. */
function failPod(): void {
  h.api.change(pods, KEY, (pod) => {
    pod.status = { ...pod.status, phase: 'Failed', conditions: [{ type: 'Ready', status: 'False' }] };
  });
}

/** Lets time run to `deadlineMs`, with a stop a millisecond before it to see that nothing has happened. */
async function reach(deadlineMs: number, hasHappened: () => boolean): Promise<void> {
  expect(h.clock.now()).toBeLessThan(deadlineMs);
  await h.clock.advance(deadlineMs - 1 - h.clock.now());
  await systemClock.sleep(30);
  expect(hasHappened()).toBe(false);
  await h.clock.advance(1);
  await h.until(hasHappened, 'it happens');
}

const isPodGoing = (): boolean => h.pod()?.metadata.deletionTimestamp !== undefined || h.pod() === undefined;

describe('a restart', () => {
  const podFailurePolicy = { restart: 'OnFailure', backoffSeconds: 60 } as const;

  it('replaces the Pod at its published time, with a new controller too, and counts', async () => {
    const first = await startReady({ podFailurePolicy });
    const firstUid = h.pod()?.metadata.uid;
    failPod();
    await h.until(() => h.status().phase === 'Restarting', 'the restart is announced');
    await h.kill(first);
    await h.startController();
    await reach(Date.parse(h.status().restarts?.nextRestartTime ?? ''), isPodGoing);
    h.removePod();
    await h.until(() => (h.pod()?.metadata.uid ?? firstUid) !== firstUid, 'there is a new Pod');
    h.runPod();
    await h.untilReady();
    expect(h.status()).toMatchObject({ phase: 'Running', restarts: { count: 1 } });
    expect(h.status().restarts?.nextRestartTime).toBeUndefined();
  });

  it('counts once when the controller dies between the end of the Pod and the creation of the next', async () => {
    const first = await startReady({ podFailurePolicy });
    failPod();
    await h.until(() => h.status().phase === 'Restarting', 'the restart is announced');
    await h.kill(first);
    h.removePod();
    await h.startController();
    await h.until(() => h.pod() !== undefined, 'there is a new Pod');
    expect(h.status().restarts).toMatchObject({ count: 1 });
  });
});

describe('a startup action', () => {
  it('Suspended suspends the new Sandbox once, and its owner can resume it', async () => {
    const first = await h.startController();
    h.create({ startup: { action: 'Suspended' } });
    await h.until(() => h.status().phase === 'Suspended', 'it is suspended');
    expect(h.writes().filter((write) => write.includes('pods'))).toEqual([]);
    expect(h.status()).toMatchObject({ suspendedBy: 'Startup', startup: { completedTime: h.status().suspendedAt } });
    await h.kill(first);
    await h.startController();
    h.edit((spec) => (spec.operatingMode = 'Running'));
    await h.until(() => h.pod() !== undefined, 'there is a Pod');
    h.runPod();
    await h.untilReady();
  });

  it('SuspendAfterReady suspends after the first Ready only', async () => {
    await startReady({ startup: { action: 'SuspendAfterReady' }, replicas: 1 });
    await h.until(isPodGoing, 'the Pod goes');
    h.removePod();
    await h.until(() => h.status().phase === 'Suspended', 'it is suspended');
    expect([h.sandbox().spec.replicas, h.status().suspendedBy]).toEqual([0, 'Startup']);
    h.edit((spec) => (spec.replicas = 1));
    await h.until(() => h.pod() !== undefined, 'there is a Pod');
    h.runPod();
    await h.untilReady();
    await h.until(
      () => h.sandbox().metadata.annotations?.['sandlot.dev/suspended-by'] === undefined,
      'the suspender is removed',
    );
    expect(h.sandbox().spec.replicas).toBe(1);
  });
});

describe('an idle limit', () => {
  const lastActivityMs = (): number => Date.parse(h.status().lastActivityTime ?? '');
  const use = (): void => {
    h.api.change(sandboxes, KEY, ({ metadata }) => {
      const time = new Date(h.clock.now()).toISOString();
      metadata.annotations = { ...metadata.annotations, 'sandlot.dev/last-activity-at': time };
    });
  };

  it('suspends at the limit, with a new controller too, and not sooner after a resume', async () => {
    const first = await startReady({ idle: { suspendAfterSeconds: 60 } });
    await h.kill(first);
    await h.startController();
    await reach(lastActivityMs() + 60_000, () => h.sandbox().spec.operatingMode === 'Suspended');
    await h.until(isPodGoing, 'the Pod goes');
    h.removePod();
    await h.until(() => h.status().phase === 'Suspended', 'it is suspended');
    expect(h.status().suspendedBy).toBe('Idle');
    h.edit((spec) => (spec.operatingMode = 'Running'));
    await h.until(() => h.pod() !== undefined, 'there is a Pod again');
    h.runPod();
    await h.untilReady();
    await h.until(() => h.status().lastActivityTime !== undefined, 'the clock has started');
    expect(h.sandbox().metadata.annotations?.['sandlot.dev/suspended-by']).toBeUndefined();
    await reach(lastActivityMs() + 60_000, () => h.sandbox().spec.operatingMode === 'Suspended');
  });

  it('counts from the last use', async () => {
    await startReady({ idle: { suspendAfterSeconds: 60 } });
    await h.clock.advance(30_000);
    use();
    const lastUsedMs = h.clock.now();
    await h.until(() => lastActivityMs() >= lastUsedMs, 'the use is published');
    await reach(lastUsedMs + 60_000, () => h.sandbox().spec.operatingMode === 'Suspended');
  });

  it('deletes the Sandbox and keeps disks that outlive it', async () => {
    const persistentVolumeClaimRetentionPolicy = { whenDeleted: 'Retain' } as const;
    const idle = { deleteAfterSeconds: 60 };
    await startReady({ idle, persistentVolumeClaimRetentionPolicy, volumeClaimTemplates: [WORK] });
    await reach(lastActivityMs() + 60_000, () => h.api.object(sandboxes, KEY) === undefined);
    await h.until(isPodGoing, 'the Pod goes');
    expect(h.diskNames()).toEqual(['work-notebook']);
    await h.until(() => h.api.objects(events).some(({ reason }) => reason === 'IdleDeleted'), 'there is an Event');
  });
});
