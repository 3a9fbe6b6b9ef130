import { nameHash, sandboxesV1Alpha1 } from '@sandlot/api-types';
import type { SandboxSpec } from '@sandlot/api-types';
import { events, namespaces, persistentVolumeClaims, pods } from '@sandlot/kube';
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
  findMessage,
  sinceMs,
  getSummary,
  wholeStatus,
  work,
} from '../../test/real-cluster.ts';
import { phasesSince } from '../../test/watch-phases.ts';

const HASH = 'agents.x-k8s.io/sandbox-name-hash';
const GPU = 'example.com/gpu';

const scheduled = 'PodScheduled=True/PodScheduled: ';
const notSuspended = 'Suspended=False/NotSuspended: Sandbox is not suspended';
const suspended = 'Suspended=True/PodTerminated: Pod has been terminated. Sandbox is suspended';
const asleep = 'Ready=False/SandboxSuspended: Sandbox is suspended';
const failed = 'Pod failed';

let cluster: RealCluster;
beforeAll(async () => {
  cluster = await RealCluster.start({ audit: true });
  await cluster.client.mergePatch(
    namespaces,
    { name: NAMESPACE },
    {
      metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'baseline' } },
    },
  );
  await cluster.apply(quota('0'));
  await eventually(
    () => cluster.kubectl(['get', 'resourcequota', 'gpus', '-o', 'jsonpath={.status.hard}']),
    (hard) => hard !== '',
  );
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** Of something that no other Pod asks for. */
const quota = (hard: string) => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: at('gpus'),
  spec: { hard: { [`requests.${GPU}`]: hard } },
});

const selector = (name: string): string => `${HASH}=${nameHash(name)}`;
const listNotes = async (name: string, reason: string) =>
  (await cluster.client.list(events, { namespace: NAMESPACE })).items.filter(
    (event) => event.regarding.name === name && event.reason === reason,
  );
const deletions = (name: string) => cluster.requests({ verb: 'delete', resource: 'pods', name });

describe.concurrent('a Pod that ended', () => {
  const onFailure = { restart: 'OnFailure', backoffSeconds: 1, maxBackoffSeconds: 2, maxRestarts: 2 } as const;
  const common = (name: string) => ({
    selector: selector(name),
    startedAt: TIME,
    podIPs: ['10.0.0.7'],
    replicas: 1,
  });

  it('is replaced after a delay that doubles, as often as the policy allows', async () => {
    await cluster.ready('crasher', { podFailurePolicy: onFailure });
    for (const [count, delaySeconds] of [1, 2].entries()) {
      const before = await cluster.endPod('crasher', 'Failed');
      const waiting = await cluster.untilSandbox('crasher', ({ status }) => status?.phase === 'Restarting');
      const restarts = {
        lastReason: 'Error',
        lastExitTime: TIME,
        nextRestartTime: TIME,
        ...(count === 0 ? {} : { count }),
      };
      const conditions = [scheduled, `Ready=False/PodFailed: ${failed}`, notSuspended];
      expect(wholeStatus(waiting)).toEqual(
        expected({ conditions, ...common('crasher'), restarts, phase: 'Restarting' }),
      );
      const { lastExitTime = '', nextRestartTime = '' } = waiting.status?.restarts ?? {};
      const dueMs = Date.parse(nextRestartTime);
      expect(dueMs - Date.parse(lastExitTime)).toBe(delaySeconds * 1_000);
      await cluster.runPod('crasher', before);
      const acted = await eventually(
        () => deletions('crasher'),
        (found) => found.length > count,
      );
      const actedMs = acted[count]?.receivedMs;
      expect(actedMs).toBeGreaterThanOrEqual(dueMs);
      expect(actedMs).toBeLessThan(cluster.latestMs(dueMs));
      const back = await cluster.untilSandbox('crasher', (found) => getSummary(found).includes(READY));
      expect(back.status?.restarts).toEqual({ count: count + 1, lastReason: 'Error', lastExitTime });
    }
    const last = await cluster.endPod('crasher', 'Failed');
    const finished = await cluster.until('crasher', 'Finished=True/PodFailed');
    const conditions = [
      `Finished=True/PodFailed: ${failed}`,
      scheduled,
      `Ready=False/PodFailed: ${failed}`,
      notSuspended,
    ];
    const restarts = { count: 2, lastReason: 'Error', lastExitTime: TIME };
    expect(wholeStatus(finished)).toEqual(expected({ conditions, ...common('crasher'), restarts, phase: 'Finished' }));
    await eventually(
      () => listNotes('crasher', 'PodRestartLimit'),
      (notes) => notes.length === 1,
    );
    expect((await cluster.pod('crasher')).metadata.uid).toBe(last.metadata.uid);
  });

  it('is not counted once the new Pod has been Ready for long enough', async () => {
    await cluster.ready('steady', { podFailurePolicy: { ...onFailure, resetAfterSeconds: 2 } });
    const before = await cluster.endPod('steady', 'Failed');
    await cluster.runPod('steady', before);
    const back = await cluster.untilSandbox(
      'steady',
      ({ status }) => status?.phase === 'Running' && status.restarts?.count === 1,
    );
    const reset = await cluster.untilSandbox('steady', ({ status }) => status?.restarts?.count === undefined);
    expect(reset.status?.restarts?.lastReason).toBe('Error');
    const write = { verb: 'patch', resource: 'sandboxes', subresource: 'status', name: 'steady' };
    await eventually(
      () => cluster.requests(write),
      (found) => (found.at(-1)?.receivedMs ?? 0) >= sinceMs(back, 'Ready') + 2_000,
    );
  });

  it.each([
    ['replaced although it succeeded', 'Always', 'always'],
    ['left alone if it succeeded', 'OnFailure', 'on-failure'],
  ] as const)('is %s under %s', async (_, restart, name) => {
    await cluster.ready(name, { podFailurePolicy: { restart, backoffSeconds: 1 } });
    const before = await cluster.endPod(name, 'Succeeded');
    if (restart === 'Always') {
      await cluster.runPod(name, before);
      const back = await cluster.untilSandbox(
        name,
        ({ status }) => status?.phase === 'Running' && status.restarts !== undefined,
      );
      expect(back.status?.restarts).toMatchObject({ count: 1, lastReason: 'Completed' });
    } else {
      expect((await cluster.until(name, 'Finished=True/PodSucceeded')).status?.restarts).toBeUndefined();
      expect((await cluster.pod(name)).metadata.uid).toBe(before.metadata.uid);
    }
  });

  it('is replaced at once if a user deletes it before the restart is due', async () => {
    await cluster.ready('impatient', { podFailurePolicy: { restart: 'OnFailure', backoffSeconds: 300 } });
    const before = await cluster.endPod('impatient', 'Failed');
    await cluster.untilSandbox('impatient', ({ status }) => status?.phase === 'Restarting');
    await cluster.client.delete(pods, at('impatient'), { gracePeriodSeconds: 0 });
    await cluster.runPod('impatient', before);
    await cluster.until('impatient', READY);
  });

  it('that a finalizer holds is not deleted a second time', async () => {
    await cluster.ready('stuck', { podFailurePolicy: { restart: 'OnFailure', backoffSeconds: 1 } });
    await cluster.hold(pods, 'stuck');
    const before = await cluster.endPod('stuck', 'Failed');
    await eventually(
      () => cluster.pod('stuck'),
      (pod) => pod.metadata.deletionTimestamp !== undefined,
    );
    await cluster.annotate('stuck', { 'example.com/look': 'again' });
    await cluster.ready('meanwhile');
    expect((await cluster.pod('stuck')).metadata.uid).toBe(before.metadata.uid);
    expect(await deletions('stuck')).toHaveLength(1);
    await cluster.letGo(pods, 'stuck');
    await cluster.runPod('stuck', before);
    await cluster.until('stuck', READY);
  });
});

describe.concurrent('a startup action', () => {
  const sleeping = (name: string) => ({
    conditions: [asleep, suspended],
    generation: 2,
    startedAt: TIME,
    suspendedAt: TIME,
    suspendedBy: 'Startup' as const,
    keeps: 'Volumes' as const,
    startup: { completedTime: TIME },
    phase: 'Suspended' as const,
    ...(name === '' ? {} : { selector: selector(name) }),
  });

  it('Suspended creates the disks and no Pod, and acts once', async () => {
    await cluster.create('cold', { startup: { action: 'Suspended' }, volumeClaimTemplates: [work] });
    const found = await cluster.untilSandbox('cold', ({ status }) => status?.startup?.completedTime !== undefined);
    expect(wholeStatus(found)).toEqual(expected(sleeping('')));
    expect(found.spec.operatingMode).toBe('Suspended');
    expect(found.metadata.annotations).toEqual({ 'sandlot.dev/suspended-by': 'Startup' });
    expect(await cluster.isGone(persistentVolumeClaims, 'work-cold')).toBe(false);
    expect(await cluster.requests({ verb: 'create', resource: 'pods', name: 'cold' })).toEqual([]);
    await cluster.edit('cold', { operatingMode: 'Running' });
    await cluster.runPod('cold');
    const awake = await cluster.until('cold', READY);
    expect(awake.status?.startup).toEqual(found.status?.startup);
    expect(awake.metadata.annotations).toEqual({ 'agents.x-k8s.io/pod-name': 'cold' });
  });

  it('Suspended is written in the spelling of v1alpha1 for its authors', async () => {
    await cluster.create('cold-alpha', { startup: { action: 'Suspended' }, service: false }, sandboxesV1Alpha1);
    const { spec } = await cluster.until('cold-alpha', SUSPENDED);
    expect([spec.replicas, spec.operatingMode]).toEqual([0, undefined]);
  });

  it('SuspendAfterReady suspends a Sandbox that was visibly Ready, once', async () => {
    const created = await cluster.create('warmed-up', { startup: { action: 'SuspendAfterReady' } });
    const phases = phasesSince(cluster.client, created);
    await cluster.runPod('warmed-up');
    const found = await cluster.untilSandbox('warmed-up', ({ status }) => status?.phase === 'Suspended');
    expect(await phases).toEqual(['Running', 'Suspending', 'Suspended']);
    expect(wholeStatus(found)).toEqual(expected(sleeping('warmed-up')));
    await cluster.edit('warmed-up', { operatingMode: 'Running' });
    await cluster.runPod('warmed-up');
    const awake = await cluster.until('warmed-up', READY);
    expect(awake.status?.startup).toEqual(found.status?.startup);
    expect(awake.metadata.generation).toBe(3);
  });
});

interface Obstacle {
  readonly what: string;
  readonly name: string;
  readonly pod: SandboxSpec['podTemplate']['spec'];
  readonly words: string;
  /** ReconcilerError unless it says another. */
  readonly reason?: string;
  readonly remedy: () => Promise<unknown>;
}
const obstacles: readonly Obstacle[] = [
  {
    what: 'a RuntimeClass that does not exist',
    name: 'classless',
    pod: { containers: [container], runtimeClassName: 'microvm' },
    words: 'RuntimeClass "microvm" not found',
    remedy: () =>
      cluster.apply({
        apiVersion: 'node.k8s.io/v1',
        kind: 'RuntimeClass',
        metadata: { name: 'microvm' },
        handler: 'microvm',
      }),
  },
  {
    what: 'a ServiceAccount that does not exist',
    name: 'accountless',
    pod: { containers: [container], serviceAccountName: 'bot' },
    words: 'error looking up service account team-a/bot: serviceaccount "bot" not found',
    remedy: () => cluster.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: at('bot') }),
  },
  {
    what: 'a quota that is used up',
    name: 'greedy',
    pod: { containers: [{ ...container, resources: { limits: { [GPU]: '1' } } }] },
    words: `exceeded quota: gpus, requested: requests.${GPU}=1, used: requests.${GPU}=0, limited: requests.${GPU}=0`,
    remedy: () => cluster.apply(quota('1')),
  },
  {
    what: 'a Pod that its namespace does not allow',
    name: 'intruder',
    pod: { containers: [container], hostNetwork: true },
    words: 'violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)',
    remedy: () => cluster.edit('intruder', { podTemplate: { spec: { hostNetwork: null } } }),
  },
  {
    what: 'a Pod template that is not valid',
    name: 'imageless',
    pod: { containers: [{ name: 'main' }] },
    words: 'spec.containers[0].image: Required value',
    reason: 'InvalidConfiguration',
    remedy: () => cluster.edit('imageless', { podTemplate: { spec: { containers: [container] } } }),
  },
];

describe.concurrent('what the API server refuses', () => {
  it.each(obstacles)(
    'is reported once, in the words of the API server, and recovers after the remedy: $what',
    async (obstacle) => {
      const { name, pod, words, remedy, reason = 'ReconcilerError' } = obstacle;
      await cluster.create(name, { podTemplate: { spec: pod } });
      const refused = await cluster.until(name, `Ready=False/${reason}`);
      const message = findMessage(refused, 'Ready') ?? '';
      expect(message).toMatch(/^Error seen: /);
      expect(message).toContain(words);
      const unknown =
        'PodScheduled=Unknown/PodSchedulingUnknown: Pod state is unknown. Pod scheduling cannot be determined';
      const conditions = [unknown, `Ready=False/${reason}: ${message}`, notSuspended];
      expect(wholeStatus(refused)).toEqual(expected({ conditions, startedAt: TIME, phase: 'Pending' }));
      const notes = await eventually(
        () => listNotes(name, reason),
        (found) => found.length > 0,
      );
      expect(notes).toMatchObject([{ type: 'Warning', note: message }]);
      await remedy();
      await cluster.runPod(name);
      await cluster.until(name, READY);
      expect(await listNotes(name, reason)).toHaveLength(1);
    },
  );
});
