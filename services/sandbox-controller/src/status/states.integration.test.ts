import { nameHash, sandboxesV1Alpha1 } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { events, persistentVolumeClaims, pods, services } from '@sandlot/kube';
import type { Pod } from '@sandlot/kube';
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
  ownedBy,
  running,
  sinceMs,
  getSummary,
  wholeStatus,
  work,
} from '../../test/real-cluster.ts';

/** A kubelet holds the Pod of a Sandbox on a node until it reports that it has stopped it. */
const onNode = { podTemplate: { spec: { nodeName: 'node-1', containers: [container] } } };
const withAll = { service: true, volumeClaimTemplates: [work] };
const POD_NAME = 'agents.x-k8s.io/pod-name';

const scheduled = 'PodScheduled=True/PodScheduled: ';
const notSuspended = 'Suspended=False/NotSuspended: Sandbox is not suspended';
const unscheduled = 'PodScheduled=Unknown/PodSchedulingUnknown: Pod has not reported a PodScheduled condition yet';
const terminated = 'Suspended=True/PodTerminated: Pod has been terminated. Sandbox is suspended';

let cluster: RealCluster;
beforeAll(async () => {
  cluster = await RealCluster.start();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const selector = (name: string): string => `agents.x-k8s.io/sandbox-name-hash=${nameHash(name)}`;
const network = (name: string) => ({ service: name, serviceFQDN: `${name}.${NAMESPACE}.svc.cluster.local` });
const base = (name: string) => ({ selector: selector(name), startedAt: TIME });
/** Values of Ready that a watcher sees from then on, repetitions left out, until it is lost and back. */
async function readyHistory({ metadata: { name = '', resourceVersion } }: Sandbox): Promise<string[]> {
  const seen: string[] = [];
  const selection = { namespace: NAMESPACE, fieldSelector: `metadata.name=${name}`, timeoutSeconds: 30 };
  for await (const event of cluster.client.watch(sandboxesV1Alpha1, { ...selection, resourceVersion })) {
    if (event.type === 'BOOKMARK') continue;
    const { status } = event.object;
    const ready = status?.conditions?.find((condition) => condition.type === 'Ready')?.status ?? 'none';
    if (seen.at(-1) !== ready) seen.push(ready);
    if (seen.length === 2) break;
  }
  return seen;
}

/** The kubelet has stopped a Pod that was being deleted. */
const stopPod = (name: string): Promise<void> => cluster.client.delete(pods, at(name), { gracePeriodSeconds: 0 });

describe.concurrent('a Sandbox that runs', () => {
  it('shows each step of its start, with its children owned by it', async () => {
    await cluster.create('newborn', withAll);
    const waiting = 'Ready=False/DependenciesNotReady: Pod exists with phase: Pending; Service Exists';
    const pending = await cluster.until('newborn', 'Ready=False/DependenciesNotReady');
    const common = { ...base('newborn'), ...network('newborn'), replicas: 1, phase: 'Pending' as const };
    expect(wholeStatus(pending)).toEqual(expected({ conditions: [unscheduled, waiting, notSuspended], ...common }));
    expect(pending.metadata.annotations).toEqual({ [POD_NAME]: 'newborn' });
    expect(pending.metadata.finalizers).toBeUndefined();
    const children = await Promise.all([
      cluster.pod('newborn'),
      cluster.client.get(services, at('newborn')),
      cluster.client.get(persistentVolumeClaims, at('work-newborn')),
    ]);
    for (const child of children) {
      expect(child.metadata.ownerReferences).toEqual(ownedBy(pending));
      expect(child.metadata.labels).toEqual({ 'agents.x-k8s.io/sandbox-name-hash': nameHash('newborn') });
    }
    const steps: readonly (readonly [report: NonNullable<Pod['status']>, message: string])[] = [
      [{ ...running(false), podIP: '', podIPs: [] }, 'Pod is Running but not Ready; Service Exists'],
      [{ ...running(), podIP: '', podIPs: [] }, 'Pod is Ready but has no podIPs yet; Service Exists'],
    ];
    for (const [report, message] of steps) {
      await cluster.report('newborn', report);
      const seen = await cluster.untilSaid('newborn', message);
      const conditions = [scheduled, `Ready=False/DependenciesNotReady: ${message}`, notSuspended];
      expect(wholeStatus(seen)).toEqual(expected({ conditions, ...common }));
    }
    await cluster.report('newborn', running());
    const ready = 'Ready=True/DependenciesReady: Pod is Ready; Service Exists';
    expect(wholeStatus(await cluster.until('newborn', READY))).toEqual(
      expected({ conditions: [scheduled, ready, notSuspended], ...common, podIPs: ['10.0.0.7'], phase: 'Running' }),
    );
  });

  it('gets a deleted Pod back under its name on its disks, and is visibly not Ready in between', async () => {
    const known = await cluster.ready('phoenix', withAll);
    const pod = await cluster.pod('phoenix');
    const disk = await cluster.client.get(persistentVolumeClaims, at('work-phoenix'));
    const history = readyHistory(known);
    await stopPod('phoenix');
    const between = await cluster.until('phoenix', 'Ready=False/DependenciesNotReady');
    expect(sinceMs(between, 'Suspended')).toBe(sinceMs(known, 'Suspended'));
    const successor = await cluster.runPod('phoenix', pod);
    expect(await history).toEqual(['False', 'True']);
    const back = await cluster.until('phoenix', READY);
    expect(wholeStatus(back)).toEqual(wholeStatus(known));
    expect(sinceMs(back, 'Suspended')).toBe(sinceMs(known, 'Suspended'));
    expect(successor.spec.volumes?.map((volume) => volume.persistentVolumeClaim?.claimName)).toContain('work-phoenix');
    const same = await cluster.client.get(persistentVolumeClaims, at('work-phoenix'));
    expect(same.metadata.uid).toBe(disk.metadata.uid);
  });

  it.each([
    ['its kubelet', 'slow', onNode],
    ['a finalizer', 'held', {}],
  ])('creates nothing while %s holds the Pod that is being deleted', async (holder, name, spec) => {
    await cluster.ready(name, spec);
    const before = await cluster.pod(name);
    if (holder === 'a finalizer') await cluster.hold(pods, name);
    await cluster.client.delete(pods, at(name));
    const waiting = await cluster.untilSaid(name, 'Pod is Running but not Ready');
    const conditions = [scheduled, 'Ready=False/DependenciesNotReady: Pod is Running but not Ready', notSuspended];
    const nodeName = before.spec.nodeName === undefined ? {} : { nodeName: before.spec.nodeName };
    expect(wholeStatus(waiting)).toEqual(
      expected({ conditions, ...base(name), ...nodeName, podIPs: ['10.0.0.7'], replicas: 1, phase: 'Pending' }),
    );
    expect((await cluster.pod(name)).metadata.uid).toBe(before.metadata.uid);
    if (holder === 'a finalizer') await cluster.letGo(pods, name);
    else await stopPod(name);
    await cluster.runPod(name, before);
    await cluster.until(name, READY);
  });

  it.each([
    ['Succeeded', 'PodSucceeded', 'Pod completed successfully'],
    ['Failed', 'PodFailed', 'Pod failed'],
  ] as const)('is finished with a Pod that %s, until a user deletes the Pod', async (phase, reason, message) => {
    const name = phase.toLowerCase();
    await cluster.ready(name);
    const before = await cluster.endPod(name, phase);
    const finished = await cluster.until(name, `Finished=True/${reason}`);
    const conditions = [
      `Finished=True/${reason}: ${message}`,
      scheduled,
      `Ready=False/${reason}: ${message}`,
      notSuspended,
    ];
    expect(wholeStatus(finished)).toEqual(
      expected({ conditions, ...base(name), podIPs: ['10.0.0.7'], replicas: 1, phase: 'Finished' }),
    );
    expect((await cluster.pod(name)).metadata.uid).toBe(before.metadata.uid);
    await stopPod(name);
    await cluster.runPod(name, before);
    expect(getSummary(await cluster.until(name, READY))).not.toContain(`Finished=True/${reason}`);
  });

  it('touches neither of two Pods that it controls, and reports them once', async () => {
    const sandbox = await cluster.ready('twins', { service: true });
    const [first, second] = [await cluster.pod('twins'), { metadata: { ...at('twin') } }];
    const { labels, ownerReferences } = first.metadata;
    await cluster.client.create(pods, {
      metadata: { ...second.metadata, labels, ownerReferences },
      spec: { containers: [container] },
    });
    const seen = await cluster.until('twins', 'Ready=False/MultiplePods');
    const message = 'multiple Pods (2) are controlled by this Sandbox; refusing to choose or create a Pod';
    const unknown =
      'PodScheduled=Unknown/PodSchedulingUnknown: Pod state is unknown. Pod scheduling cannot be determined';
    expect(wholeStatus(seen)).toEqual(
      expected({
        conditions: [unknown, `Ready=False/MultiplePods: ${message}`, notSuspended],
        ...base('twins'),
        ...network('twins'),
        replicas: 1,
        phase: 'Pending',
      }),
    );
    await cluster.report('twin', running());
    const notes = await eventually(
      async () => (await cluster.client.list(events, { namespace: NAMESPACE })).items,
      (found) => found.some((event) => event.reason === 'MultiplePods'),
    );
    expect(notes.filter((event) => event.reason === 'MultiplePods')).toMatchObject([{ type: 'Warning' }]);
    expect((await cluster.pod('twins')).metadata.uid).toBe(first.metadata.uid);
    expect((await cluster.pod('twin')).metadata.deletionTimestamp).toBeUndefined();
    await stopPod('twin');
    expect(wholeStatus(await cluster.until('twins', READY))).toEqual(wholeStatus(sandbox));
  });

  it('repairs an annotation that names the wrong Pod', async () => {
    await cluster.ready('misnamed');
    await cluster.annotate('misnamed', { [POD_NAME]: 'elsewhere' });
    await cluster.untilSandbox('misnamed', ({ metadata }) => metadata.annotations?.[POD_NAME] === 'misnamed');
    await cluster.until('misnamed', READY);
  });

  it('copies edits of its template’s metadata to the Pod, and nothing else', async () => {
    const podTemplate = { metadata: { labels: { team: 'a', tier: '1' } }, spec: { containers: [container] } };
    await cluster.ready('dressed', { podTemplate });
    const before = await cluster.pod('dressed');
    const spec = { containers: [{ ...container, image: 'other' }] };
    await cluster.edit('dressed', {
      podTemplate: { metadata: { labels: { team: null, tier: '2', zone: 'b' } }, spec },
    });
    const after = await eventually(
      () => cluster.pod('dressed'),
      (pod) => pod.metadata.labels?.['zone'] === 'b',
    );
    const tracking = { 'agents.x-k8s.io/sandbox-name-hash': nameHash('dressed') };
    expect(after.metadata.labels).toEqual({ tier: '2', zone: 'b', ...tracking });
    expect(after.metadata.annotations).toEqual({ 'agents.x-k8s.io/propagated-labels': 'tier,zone' });
    expect(after.spec).toEqual(before.spec);
  });
});

describe.concurrent('a Sandbox that is suspended', () => {
  it('shows its progress, keeps Service and disk, and comes back on the same disk', async () => {
    const awake = await cluster.ready('sleeper', { ...withAll, ...onNode });
    const disk = await cluster.client.get(persistentVolumeClaims, at('work-sleeper'));
    const before = await cluster.pod('sleeper');
    await cluster.edit('sleeper', { operatingMode: 'Suspended' });
    const suspending = await cluster.until('sleeper', 'Suspended=False/PodTerminating');
    const kept = { ...base('sleeper'), ...network('sleeper') };
    const stopping = [
      scheduled,
      'Ready=False/SandboxSuspended: Sandbox is suspending',
      'Suspended=False/PodTerminating: Pod is terminating. Sandbox is suspending',
    ];
    expect(wholeStatus(suspending)).toEqual(
      expected({ generation: 2, conditions: stopping, ...kept, replicas: 1, phase: 'Suspending' }),
    );
    expect(sinceMs(suspending, 'Suspended')).toBe(sinceMs(awake, 'Suspended'));
    await stopPod('sleeper');
    const asleep = await cluster.until('sleeper', SUSPENDED);
    const stopped = ['Ready=False/SandboxSuspended: Sandbox is suspended', terminated];
    const record = { suspendedAt: TIME, suspendedBy: 'User' as const, keeps: 'Volumes' as const };
    expect(wholeStatus(asleep)).toEqual(
      expected({ generation: 2, conditions: stopped, ...kept, ...record, phase: 'Suspended' }),
    );
    expect(asleep.metadata.annotations ?? {}).not.toHaveProperty([POD_NAME]);
    await cluster.edit('sleeper', { operatingMode: 'Running' });
    await cluster.runPod('sleeper', before);
    const back = await cluster.until('sleeper', READY);
    const ready = 'Ready=True/DependenciesReady: Pod is Ready; Service Exists';
    const again = { ...kept, nodeName: 'node-1', podIPs: ['10.0.0.7'], replicas: 1, resumedAt: TIME };
    expect(wholeStatus(back)).toEqual(
      expected({ generation: 3, conditions: [scheduled, ready, notSuspended], ...again, phase: 'Running' }),
    );
    const same = await cluster.client.get(persistentVolumeClaims, at('work-sleeper'));
    expect(same.metadata.uid).toBe(disk.metadata.uid);
  });

  it('waits for a Pod that a finalizer holds', async () => {
    const awake = await cluster.ready('drowsy');
    await cluster.hold(pods, 'drowsy');
    await cluster.edit('drowsy', { operatingMode: 'Suspended' });
    const suspending = await cluster.until('drowsy', 'Suspended=False/PodTerminating');
    expect(sinceMs(suspending, 'Suspended')).toBe(sinceMs(awake, 'Suspended'));
    await cluster.letGo(pods, 'drowsy');
    await cluster.until('drowsy', SUSPENDED);
  });

  it('leaves a foreign Pod of its name alone', async () => {
    const labels = { 'agents.x-k8s.io/sandbox-name-hash': nameHash('usurped') };
    const ownerReferences = [await cluster.stranger()];
    await cluster.client.create(pods, {
      metadata: { ...at('usurped'), labels, ownerReferences },
      spec: { containers: [container] },
    });
    await cluster.report('usurped', running());
    await cluster.create('usurped', { operatingMode: 'Suspended', service: true });
    const seen = await cluster.until('usurped', 'Suspended=False/PodNotOwned');
    const conditions = [
      'Ready=False/SandboxSuspended: Sandbox is suspending',
      'Suspended=False/PodNotOwned: Refused to delete pod because it is not owned by this sandbox',
    ];
    expect(wholeStatus(seen)).toEqual(
      expected({ conditions, ...base('usurped'), ...network('usurped'), phase: 'Suspending' }),
    );
    expect((await cluster.pod('usurped')).metadata).toMatchObject({ labels, ownerReferences });
    await stopPod('usurped');
    await cluster.until('usurped', SUSPENDED);
  });

  const edits: readonly (readonly [
    way: string,
    name: string,
    set: (name: string, isOn: boolean) => Promise<unknown>,
  ])[] = [
    ['operatingMode', 'by-mode', (name, isOn) => cluster.edit(name, { operatingMode: isOn ? 'Running' : 'Suspended' })],
    [
      'replicas through v1alpha1',
      'by-replicas',
      (name, isOn) => cluster.client.mergePatch(sandboxesV1Alpha1, at(name), { spec: { replicas: isOn ? 1 : 0 } }),
    ],
    [
      'the scale of v1alpha1',
      'by-scale-alpha',
      (name, isOn) => scale('sandboxes.v1alpha1.agents.x-k8s.io', name, isOn),
    ],
    ['the scale of v1beta1', 'by-scale-beta', (name, isOn) => scale('sandboxes.v1beta1.agents.x-k8s.io', name, isOn)],
  ];
  const scale = (resource: string, name: string, isOn: boolean): Promise<string> =>
    cluster.kubectl(['scale', resource, name, `--replicas=${isOn ? 1 : 0}`]);

  it.each(edits)('by %s has no Pod until it is resumed the same way', async (_, name, set) => {
    await cluster.ready(name);
    await set(name, false);
    const asleep = await cluster.until(name, SUSPENDED);
    expect(await cluster.isGone(pods, name)).toBe(true);
    expect(wholeStatus(asleep)).toEqual(
      expected({
        generation: 2,
        conditions: ['Ready=False/SandboxSuspended: Sandbox is suspended', terminated],
        ...base(name),
        suspendedAt: TIME,
        suspendedBy: 'User',
        keeps: 'Volumes',
        phase: 'Suspended',
      }),
    );
    await set(name, true);
    await cluster.runPod(name);
    await cluster.until(name, READY);
  });

  it('stays suspended while its owner switches from one spelling to the other', async () => {
    await cluster.create('bilingual', { replicas: 0 }, sandboxesV1Alpha1);
    const first = await cluster.until('bilingual', SUSPENDED);
    await cluster.edit('bilingual', { replicas: null, operatingMode: 'Suspended' });
    const second = await cluster.untilSandbox('bilingual', ({ status }) => status?.observedGeneration === 2);
    expect(sinceMs(second, 'Suspended')).toBe(sinceMs(first, 'Suspended'));
    expect(second.spec).not.toHaveProperty('replicas');
    expect(await cluster.isGone(pods, 'bilingual')).toBe(true);
  });

  it('from the start has disks and no Pod', async () => {
    await cluster.create('unborn', { operatingMode: 'Suspended', volumeClaimTemplates: [work], service: true });
    const asleep = await cluster.until('unborn', SUSPENDED);
    const conditions = ['Ready=False/SandboxSuspended: Sandbox is suspended', terminated];
    const record = { suspendedAt: TIME, suspendedBy: 'User' as const, keeps: 'Volumes' as const, startedAt: TIME };
    expect(wholeStatus(asleep)).toEqual(expected({ conditions, ...network('unborn'), ...record, phase: 'Suspended' }));
    expect(await cluster.isGone(persistentVolumeClaims, 'work-unborn')).toBe(false);
    expect(await cluster.isGone(pods, 'unborn')).toBe(true);
    expect(findMessage(asleep, 'Finished')).toBeUndefined();
  });
});

describe.concurrent('a Sandbox in two versions', () => {
  it('is the same object, whichever version created it', async () => {
    await cluster.create('alpha', { replicas: 1, service: true }, sandboxesV1Alpha1);
    await cluster.create('beta', { operatingMode: 'Running', service: true });
    for (const name of ['alpha', 'beta']) {
      await cluster.runPod(name);
      const beta = await cluster.until(name, READY);
      const alpha = await cluster.client.get(sandboxesV1Alpha1, at(name));
      expect({ ...alpha, apiVersion: undefined, metadata: { ...alpha.metadata, managedFields: undefined } }).toEqual({
        ...beta,
        apiVersion: undefined,
        metadata: { ...beta.metadata, managedFields: undefined },
      });
    }
  });
});
