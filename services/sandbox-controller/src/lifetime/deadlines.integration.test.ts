import { nameHash, sandboxes } from '@sandlot/api-types';
import type { SandboxSpec } from '@sandlot/api-types';
import { events, persistentVolumeClaims, pods, services } from '@sandlot/kube';
import { systemClock } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  NAMESPACE,
  READY,
  RealCluster,
  SUSPENDED,
  TIME,
  at,
  container,
  eventually,
  expected,
  sinceMs,
  getSummary,
  formatTime,
  wholeStatus,
  work,
} from '../../test/real-cluster.ts';

const EXPIRED = 'Ready=False/SandboxExpired';
const ACTIVITY = 'sandlot.dev/last-activity-at';
const INTENT = 'sandlot.dev/suspended-by';

const notSuspended = 'Suspended=False/NotSuspended: Sandbox is not suspended';
const expiredText = 'Ready=False/SandboxExpired: Sandbox has expired';

let cluster: RealCluster;
beforeAll(async () => {
  cluster = await RealCluster.start({ audit: true });
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** A whole second that leaves time to become Ready. */
const soonMs = (seconds = 4): number => Math.ceil(Date.now() / 1_000) * 1_000 + seconds * 1_000;

/** Never early, by the times that the API server and the objects keep, and at once when it `can` be done. */
function expectOnTime(actedMs: number, deadlineMs: number, canMs = deadlineMs): void {
  expect(actedMs).toBeGreaterThanOrEqual(deadlineMs);
  expect(actedMs).toBeLessThan(cluster.latestMs(canMs));
}

/** When the API server got the first such request of the controller; waits for it. */
async function firstMs(wanted: Parameters<RealCluster['requests']>[0]): Promise<number> {
  const found = await eventually(
    () => cluster.requests(wanted),
    (requests) => requests.length > 0,
  );
  return found[0]!.receivedMs;
}

const deletionMs = (resource: string, name: string): Promise<number> => firstMs({ verb: 'delete', resource, name });

const untilMs = (ms: number): Promise<void> => systemClock.sleep(ms - Date.now());

/** A retained Sandbox once the second pass of its expiry is over. */
const retained = (name: string) =>
  cluster.untilSandbox(name, (found) => getSummary(found).includes(EXPIRED) && found.status?.startedAt === undefined);

describe.concurrent('time', () => {
  describe('acts on a deadline, never before:', () => {
    it.each([
      ['shutdown', 0],
      ['shutdown-fraction', 700],
    ])('shutdownTime (%s)', async (name, fractionMs) => {
      await cluster.ready(name, { service: true });
      const deadlineMs = soonMs(2) + fractionMs;
      await cluster.edit(name, { shutdownTime: new Date(deadlineMs).toISOString() });
      const published = await cluster.untilSandbox(name, ({ status }) => status?.observedGeneration === 2);
      expect(Date.parse(published.status?.expiresAt ?? '')).toBe(Math.floor(deadlineMs / 1_000) * 1_000);
      const gone = await retained(name);
      expectOnTime(sinceMs(gone, 'Ready') + fractionMs, deadlineMs);
      expectOnTime(await deletionMs('pods', name), deadlineMs);
      expectOnTime(await deletionMs('services', name), deadlineMs);
      const conditions = [expiredText, notSuspended];
      expect(wholeStatus(gone)).toEqual(expected({ generation: 2, conditions, phase: 'Expired' }));
      expect(await Promise.all([cluster.isGone(pods, name), cluster.isGone(services, name)])).toEqual([true, true]);
    });

    it('ttlSeconds, from the start', async () => {
      const { metadata } = await cluster.ready('mortal');
      const deadlineMs = soonMs(2);
      const ttlSeconds = (deadlineMs - Date.parse(metadata.creationTimestamp ?? '')) / 1_000;
      await cluster.edit('mortal', { ttlSeconds });
      expectOnTime(sinceMs(await retained('mortal'), 'Ready'), deadlineMs);
      expectOnTime(await deletionMs('pods', 'mortal'), deadlineMs);
    });

    it('ttlSecondsAfterFinished, and keeps the condition Finished', async () => {
      await cluster.ready('done', { ttlSecondsAfterFinished: 2 });
      await cluster.endPod('done', 'Succeeded');
      const finished = await cluster.until('done', 'Finished=True/PodSucceeded');
      const deadlineMs = sinceMs(finished, 'Finished') + 2_000;
      expect(Date.parse(finished.status?.expiresAt ?? '')).toBe(deadlineMs);
      const gone = await retained('done');
      expectOnTime(await deletionMs('pods', 'done'), deadlineMs);
      const record = 'Finished=True/PodSucceeded: Pod completed successfully';
      expect(wholeStatus(gone)).toEqual(
        expected({ conditions: [record, expiredText, notSuspended], phase: 'Expired' }),
      );
      expect(sinceMs(gone, 'Finished')).toBe(sinceMs(finished, 'Finished'));
    });

    it('the earliest of several', async () => {
      await cluster.ready('several', { ttlSeconds: 3_600, ttlSecondsAfterFinished: 3_600 });
      const deadlineMs = soonMs(2);
      await cluster.edit('several', { shutdownTime: formatTime(deadlineMs) });
      expectOnTime(await deletionMs('pods', 'several'), deadlineMs);
    });

    it('shutdownTime of a suspended Sandbox, which stays suspended', async () => {
      const deadlineMs = soonMs();
      await cluster.create('asleep', { shutdownTime: formatTime(deadlineMs), operatingMode: 'Suspended' });
      const before = await cluster.until('asleep', SUSPENDED);
      const gone = await retained('asleep');
      expectOnTime(
        Date.parse(gone.metadata.managedFields?.find((entry) => entry.subresource === 'status')?.time ?? ''),
        deadlineMs,
      );
      const suspended = 'Suspended=True/PodTerminated: Pod has been terminated. Sandbox is suspended';
      expect(wholeStatus(gone)).toEqual(expected({ conditions: [expiredText, suspended], phase: 'Expired' }));
      expect(sinceMs(gone, 'Suspended')).toBe(sinceMs(before, 'Suspended'));
    });
  });

  describe('at its expiry a Sandbox', () => {
    type Policy = SandboxSpec['persistentVolumeClaimRetentionPolicy'];
    const rows: readonly (readonly [shutdown: 'Retain' | 'Delete', policy: Policy, disk: 'owned' | 'free' | 'gone'])[] =
      [
        ['Retain', {}, 'owned'],
        ['Retain', { whenExpired: 'Retain' }, 'owned'],
        ['Retain', { whenExpired: 'Delete' }, 'gone'],
        ['Retain', { whenDeleted: 'Retain' }, 'free'],
        ['Retain', { whenDeleted: 'Retain', whenExpired: 'Delete' }, 'gone'],
        ['Delete', {}, 'gone'],
        ['Delete', { whenExpired: 'Retain' }, 'free'],
        ['Delete', { whenExpired: 'Delete' }, 'gone'],
        ['Delete', { whenDeleted: 'Retain' }, 'free'],
        ['Delete', { whenDeleted: 'Retain', whenExpired: 'Delete' }, 'gone'],
      ];
    it.each(rows.map(([shutdown, policy, disk], index) => ({ shutdown, policy, disk, index })))(
      'with $shutdown and $policy leaves its disk $disk',
      async ({ shutdown, policy, disk, index }) => {
        const name = `end-${index}`;
        const deadlineMs = soonMs(1);
        const persistentVolumeClaimRetentionPolicy = policy;
        const spec = { shutdownPolicy: shutdown, volumeClaimTemplates: [work], service: true };
        await cluster.create(name, {
          ...spec,
          persistentVolumeClaimRetentionPolicy,
          shutdownTime: formatTime(deadlineMs),
        });
        const { metadata } = await cluster.untilSandbox(name, ({ status }) => status?.conditions !== undefined);
        if (shutdown === 'Retain') await retained(name);
        else await cluster.untilGone(sandboxes, name);
        await cluster.untilGone(pods, name);
        await cluster.untilGone(services, name);
        expect(await deletionMs('pods', name)).toBeGreaterThanOrEqual(deadlineMs);
        if (disk === 'gone') {
          await cluster.untilGone(persistentVolumeClaims, `work-${name}`);
          return;
        }
        const kept = await cluster.client.get(persistentVolumeClaims, at(`work-${name}`));
        expect(kept.metadata.deletionTimestamp).toBeUndefined();
        expect(kept.metadata.ownerReferences?.map(({ uid }) => uid)).toEqual(
          disk === 'owned' ? [metadata.uid] : undefined,
        );
        expect(kept.metadata.labels).toEqual({ 'agents.x-k8s.io/sandbox-name-hash': nameHash(name) });
      },
    );

    it('leaves a foreign Pod and Service of its name alone', async () => {
      const metadata = { ...at('guest'), ownerReferences: [await cluster.stranger()] };
      await cluster.client.create(pods, { metadata, spec: { containers: [container] } });
      await cluster.client.create(services, { metadata, spec: { clusterIP: 'None' } });
      await cluster.create('guest', { shutdownTime: formatTime(soonMs(1)), service: true });
      await retained('guest');
      expect(await cluster.requests({ verb: 'delete', name: 'guest' })).toEqual([]);
      expect(await Promise.all([cluster.isGone(pods, 'guest'), cluster.isGone(services, 'guest')])).toEqual([
        false,
        false,
      ]);
    });

    it('that is retained comes back when its deadline is moved, on its disk', async () => {
      const before = await cluster.ready('lazarus', { volumeClaimTemplates: [work], service: true });
      const disk = await cluster.client.get(persistentVolumeClaims, at('work-lazarus'));
      await cluster.edit('lazarus', { shutdownTime: formatTime(soonMs(1)) });
      await retained('lazarus');
      await cluster.edit('lazarus', { shutdownTime: null });
      await cluster.runPod('lazarus');
      const back = await cluster.until('lazarus', READY);
      const generation = (value: unknown): unknown =>
        JSON.parse(JSON.stringify(value).replaceAll('eneration":3', 'eneration":1'));
      expect(generation(wholeStatus(back))).toEqual(wholeStatus(before));
      const same = await cluster.client.get(persistentVolumeClaims, at('work-lazarus'));
      expect(same.metadata.uid).toBe(disk.metadata.uid);
    });

    it('shows the effect of an edit before a deadline that has passed', async () => {
      await cluster.ready('edited', { podTemplate: { spec: { nodeName: 'node-1', containers: [container] } } });
      await cluster.edit('edited', { operatingMode: 'Suspended', shutdownTime: '2020-01-01T00:00:00Z' });
      const suspending = 'Suspended=False/PodTerminating: Pod is terminating. Sandbox is suspending';
      expect(wholeStatus(await retained('edited'))).toEqual(
        expected({ generation: 2, conditions: [expiredText, suspending], phase: 'Expired' }),
      );
    });
  });

  describe('an unused Sandbox', () => {
    it.each([
      ['idle-mode', { operatingMode: 'Running' }, { operatingMode: 'Suspended' }],
      ['idle-replicas', { replicas: 1 }, { replicas: 0 }],
    ] as const)('is suspended in its own spelling (%s)', async (name, written, spec) => {
      const idle = { suspendAfterSeconds: 5 };
      const awake = await cluster.ready(name, { ...written, idle });
      const deadlineMs = Date.parse(awake.status?.lastActivityTime ?? '') + 5_000;
      expectOnTime(await deletionMs('pods', name), deadlineMs);
      const asleep = await cluster.until(name, SUSPENDED);
      expect(asleep.spec).toEqual({ ...awake.spec, ...spec });
      expect(asleep.metadata.annotations).toEqual({ [INTENT]: 'Idle' });
      const suspended = 'Suspended=True/PodTerminated: Pod has been terminated. Sandbox is suspended';
      expect(wholeStatus(asleep)).toEqual(
        expected({
          generation: 2,
          conditions: ['Ready=False/SandboxSuspended: Sandbox is suspended', suspended],
          selector: `agents.x-k8s.io/sandbox-name-hash=${nameHash(name)}`,
          startedAt: TIME,
          lastActivityTime: TIME,
          suspendedAt: TIME,
          suspendedBy: 'Idle',
          keeps: 'Volumes',
          phase: 'Suspended',
        }),
      );
      await cluster.edit(name, written);
      await cluster.runPod(name);
      const back = await cluster.until(name, READY);
      expect(back.metadata.annotations).toEqual({ 'agents.x-k8s.io/pod-name': name });
      expect(Date.parse(back.status?.lastActivityTime ?? '')).toBeGreaterThanOrEqual(sinceMs(back, 'Ready'));
    });

    it('is suspended later after every report of activity', async () => {
      const awake = await cluster.ready('busy', { idle: { suspendAfterSeconds: 5 } });
      const lastUsedMs = Date.parse(awake.status?.lastActivityTime ?? '') + 1_750;
      // A report from the future would count as of when it was seen.
      await untilMs(lastUsedMs);
      await cluster.annotate('busy', { [ACTIVITY]: new Date(lastUsedMs).toISOString() });
      expectOnTime(await deletionMs('pods', 'busy'), lastUsedMs + 5_000);
    });

    it('is deleted, suspended or not, and its disk follows whenDeleted', async () => {
      const idle = { suspendAfterSeconds: 5, deleteAfterSeconds: 6 };
      const spec = { idle, volumeClaimTemplates: [work], shutdownPolicy: 'Retain' as const };
      const kept = { ...spec, persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain' as const } };
      const both = await Promise.all([cluster.ready('unused', spec), cluster.ready('unused-kept', kept)]);
      for (const { metadata, status } of both) {
        const name = metadata.name ?? '';
        expectOnTime(await deletionMs('sandboxes', name), Date.parse(status?.lastActivityTime ?? '') + 6_000);
        await cluster.untilGone(sandboxes, name);
      }
      await cluster.untilGone(persistentVolumeClaims, 'work-unused');
      const disk = await cluster.client.get(persistentVolumeClaims, at('work-unused-kept'));
      expect(disk.metadata.ownerReferences).toBeUndefined();
      const reasons = await eventually(
        async () => (await cluster.client.list(events, { namespace: NAMESPACE })).items.map(({ reason }) => reason),
        (found) => found.filter((reason) => reason === 'IdleDeleted').length === 2,
      );
      expect(reasons).toContain('Suspended');
    });
  });
});

describe('deadlines survive', () => {
  it('the death of the controller, of the API server and of etcd', async () => {
    const [, , finished] = await Promise.all([
      cluster.ready('outage-retain'),
      cluster.ready('outage-delete', { shutdownPolicy: 'Delete', volumeClaimTemplates: [work] }),
      cluster.ready('outage-finished'),
      cluster.ready('outage-idle', { idle: { suspendAfterSeconds: 5 } }),
      cluster.ready('outage-restart', { podFailurePolicy: { restart: 'OnFailure', backoffSeconds: 5 } }),
    ]);
    await Promise.all([cluster.endPod('outage-finished', 'Failed'), cluster.endPod('outage-restart', 'Failed')]);
    const finishedMs = sinceMs(await cluster.until('outage-finished', 'Finished=True/PodFailed'), 'Finished');
    const deadlineMs = soonMs(3);
    const shutdownTime = formatTime(deadlineMs);
    await Promise.all([
      cluster.annotate('outage-idle', { [ACTIVITY]: formatTime(deadlineMs - 5_000) }),
      cluster.edit('outage-retain', { shutdownTime }),
      cluster.edit('outage-delete', { shutdownTime }),
      cluster.edit('outage-finished', { ttlSecondsAfterFinished: (deadlineMs - finishedMs) / 1_000 }),
    ]);
    for (const name of ['outage-retain', 'outage-delete', 'outage-finished']) {
      await cluster.untilSandbox(name, ({ status }) => status?.expiresAt === shutdownTime);
    }
    await cluster.untilSandbox('outage-restart', ({ status }) => status?.restarts?.nextRestartTime !== undefined);
    await cluster.killController();
    await cluster.plane.restart();
    const before = await cluster.pod('outage-restart');
    const { status } = await cluster.sandbox('outage-restart');
    await untilMs(Math.max(deadlineMs, Date.parse(status?.restarts?.nextRestartTime ?? '')) + 1);
    expect([await cluster.isGone(pods, 'outage-retain'), await cluster.isGone(sandboxes, 'outage-delete')]).toEqual([
      false,
      false,
    ]);
    const startedMs = Date.now();
    await cluster.startController();
    await retained('outage-retain');
    expect((await retained('outage-finished')).metadata.uid).toBe(finished.metadata.uid);
    await cluster.untilGone(sandboxes, 'outage-delete');
    await cluster.untilGone(persistentVolumeClaims, 'work-outage-delete');
    await cluster.until('outage-idle', SUSPENDED);
    await cluster.runPod('outage-restart', before);
    const again = await cluster.until('outage-restart', READY);
    expect(again.status?.restarts).toMatchObject({ count: 1, lastReason: 'Error' });
    for (const name of ['outage-retain', 'outage-delete', 'outage-finished', 'outage-idle', 'outage-restart']) {
      expect(await deletionMs('pods', name)).toBeGreaterThanOrEqual(startedMs);
    }
  });

  it('a report of activity while the controller is about to suspend', async () => {
    const { status } = await cluster.ready('racer', { idle: { suspendAfterSeconds: 5 } });
    const dueMs = Date.parse(status?.lastActivityTime ?? '') + 5_000;
    await untilMs(dueMs - 300);
    process.kill(cluster.controller.pid, 'SIGSTOP');
    await untilMs(dueMs + 100);
    await cluster.annotate('racer', { [ACTIVITY]: formatTime(Date.now()) });
    process.kill(cluster.controller.pid, 'SIGCONT');
    await cluster.ready('after-race');
    expect(getSummary(await cluster.sandbox('racer'))).toContain(READY);
    expect(await cluster.requests({ verb: 'delete', resource: 'pods', name: 'racer' })).toEqual([]);
  });

  it('a restart of the API server under a running controller', async () => {
    const deadlineMs = soonMs(6);
    await cluster.ready('bridge', { shutdownTime: formatTime(deadlineMs) });
    await cluster.plane.restart();
    const backMs = Date.now();
    expectOnTime(sinceMs(await retained('bridge'), 'Ready'), deadlineMs, Math.max(deadlineMs, backMs));
    await cluster.ready('after-outage');
  });
});
