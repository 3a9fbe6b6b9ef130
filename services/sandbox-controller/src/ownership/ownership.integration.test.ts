import { nameHash, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxSpec } from '@sandlot/api-types';
import { persistentVolumeClaims, pods, services } from '@sandlot/kube';
import type { KubeObject, ObjectMeta, Resource } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
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
  getSummary,
  formatTime,
  wholeStatus,
  work,
} from '../../test/real-cluster.ts';

const HASH = 'agents.x-k8s.io/sandbox-name-hash';
const ADOPTABLE = 'agents.x-k8s.io/adoptable';
const ERROR = 'Ready=False/ReconcilerError';

let cluster: RealCluster;
beforeAll(async () => {
  cluster = await RealCluster.start();
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** Something that a Sandbox of some name would make itself. */
interface Kind {
  readonly noun: 'pod' | 'service' | 'PVC';
  readonly nameFor: (sandbox: string) => string;
  readonly create: (metadata: ObjectMeta) => Promise<KubeObject>;
  readonly read: (name: string) => Promise<KubeObject>;
}

const kinds: readonly Kind[] = [
  {
    noun: 'pod',
    nameFor: (sandbox) => sandbox,
    create: async (metadata) => {
      await cluster.client.create(pods, { metadata, spec: { containers: [container] } });
      return cluster.report(metadata.name ?? '', running());
    },
    read: (name) => cluster.pod(name),
  },
  {
    noun: 'service',
    nameFor: (sandbox) => sandbox,
    create: (metadata) => cluster.client.create(services, { metadata, spec: { clusterIP: 'None' } }),
    read: (name) => cluster.client.get(services, at(name)),
  },
  {
    noun: 'PVC',
    nameFor: (sandbox) => `work-${sandbox}`,
    create: (metadata) => cluster.client.create(persistentVolumeClaims, { metadata, spec: work.spec }),
    read: (name) => cluster.client.get(persistentVolumeClaims, at(name)),
  },
];

const withAll = { service: true, volumeClaimTemplates: [work] };

/** The kubelet runs the Pod of the Sandbox if there is to be one. */
const runUnless = async (kind: Kind, name: string): Promise<void> => {
  if (kind.noun !== 'pod' && kind.noun !== 'PVC') await cluster.runPod(name);
};

describe.concurrent('what has the name of a child', () => {
  it.each(kinds)('is left alone and reported while another object owns it: $noun', async (kind) => {
    const sandbox = `foreign-${kind.noun.toLowerCase()}`;
    const name = kind.nameFor(sandbox);
    const owner = await cluster.stranger();
    const before = await kind.create({ ...at(name), labels: { [HASH]: nameHash(sandbox) }, ownerReferences: [owner] });
    await cluster.create(sandbox, withAll);
    await runUnless(kind, sandbox);
    const text = `Error seen: ${kind.noun} "${name}" is owned by ConfigMap/landlord (UID: ${owner.uid}), not by sandbox "${sandbox}"`;
    const ips = kind.noun === 'service' ? ['10.0.0.7'] : undefined;
    const refused = await cluster.untilSandbox(sandbox, ({ status }) => status?.podIPs?.[0] === ips?.[0]);
    expect(refused.status?.podIPs).toEqual(ips);
    expect(getSummary(await cluster.untilSaid(sandbox, text))).toContain(ERROR);
    expect((await kind.read(name)).metadata).toEqual(before.metadata);
  });

  it.each(kinds)('is left alone and reported while it has no owner: $noun', async (kind) => {
    const sandbox = `unowned-${kind.noun.toLowerCase()}`;
    const name = kind.nameFor(sandbox);
    const before = await kind.create(at(name));
    await cluster.create(sandbox, withAll);
    await runUnless(kind, sandbox);
    const text =
      `Error seen: cannot adopt unowned ${kind.noun} "${name}": missing required pool authorization label ` +
      `("${ADOPTABLE}") or sandbox tracking label ("${HASH}")`;
    expect(getSummary(await cluster.untilSaid(sandbox, text))).toContain(ERROR);
    expect((await kind.read(name)).metadata).toEqual(before.metadata);
  });

  const permissions = kinds.flatMap((kind) =>
    (['adoptable', 'tracked'] as const).map((permission) => ({ kind, permission, noun: kind.noun })),
  );
  it.each(permissions)('becomes the child if it is $permission: $noun', async ({ kind, permission }) => {
    const sandbox = `${permission}-${kind.noun.toLowerCase()}`;
    const name = kind.nameFor(sandbox);
    const label = permission === 'adoptable' ? { [ADOPTABLE]: 'true' } : { [HASH]: nameHash(sandbox) };
    const { metadata } = await kind.create({ ...at(name), labels: label });
    const created = await cluster.create(sandbox, withAll);
    if (kind.noun !== 'pod') await cluster.runPod(sandbox);
    await cluster.until(sandbox, READY);
    const child = await kind.read(name);
    expect(child.metadata.uid).toBe(metadata.uid);
    expect(child.metadata.ownerReferences).toEqual(ownedBy(created));
    expect(child.metadata.labels).toEqual({ ...label, [HASH]: nameHash(sandbox) });
  });

  it('is not taken over if it is a Service with a clusterIP', async () => {
    const labels = { [ADOPTABLE]: 'true' };
    const service = { metadata: { ...at('addressed'), labels }, spec: { ports: [{ port: 80 }] } };
    const { spec } = await cluster.client.create(services, service);
    await cluster.create('addressed', { service: true });
    await cluster.runPod('addressed');
    const said = `Error seen: cannot adopt service "addressed": ClusterIP is "${spec?.clusterIP ?? ''}" (expected "None", field is immutable)`;
    await cluster.untilSaid('addressed', said);
  });

  it('no longer holds the Sandbox up once it is deleted', async () => {
    const labels = { [HASH]: nameHash('patient') };
    const before = await cluster.client.create(pods, {
      metadata: { ...at('patient'), labels, ownerReferences: [await cluster.stranger()] },
      spec: { containers: [container] },
    });
    await cluster.create('patient');
    const refused = await cluster.until('patient', ERROR);
    const unknown =
      'PodScheduled=Unknown/PodSchedulingUnknown: Pod state is unknown. Pod scheduling cannot be determined';
    const notSuspended = 'Suspended=False/NotSuspended: Sandbox is not suspended';
    const ready = `Ready=False/ReconcilerError: ${findMessage(refused, 'Ready') ?? ''}`;
    expect(wholeStatus(refused)).toEqual(
      expected({
        conditions: [unknown, ready, notSuspended],
        selector: `${HASH}=${nameHash('patient')}`,
        startedAt: TIME,
        phase: 'Pending',
      }),
    );
    await cluster.client.delete(pods, at('patient'));
    await cluster.runPod('patient', before);
    await cluster.until('patient', READY);
  });
});

describe.concurrent('a disk', () => {
  it('follows whenDeleted as it is edited', async () => {
    const sandbox = await cluster.ready('fickle', { volumeClaimTemplates: [work] });
    const owners = async () =>
      (await cluster.client.get(persistentVolumeClaims, at('work-fickle'))).metadata.ownerReferences;
    expect(await owners()).toEqual(ownedBy(sandbox));
    await cluster.edit('fickle', { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain' } });
    await eventually(owners, (found) => found === undefined);
    await cluster.edit('fickle', { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' } });
    expect(await eventually(owners, (found) => found !== undefined)).toEqual(ownedBy(sandbox));
  });
});

describe.concurrent('a Sandbox that is being deleted', () => {
  it('gets no new Pod while a finalizer holds the old one', async () => {
    const { metadata } = await cluster.ready('parting');
    const before = await cluster.pod('parting');
    await cluster.hold(pods, 'parting');
    await cluster.client.delete(sandboxes, at('parting'), { propagationPolicy: 'Foreground' });
    await eventually(
      () => cluster.pod('parting'),
      (pod) => pod.metadata.deletionTimestamp !== undefined,
    );
    const parting = await cluster.sandbox('parting');
    expect(parting.metadata.uid).toBe(metadata.uid);
    expect(parting.metadata.finalizers).toEqual(['foregroundDeletion']);
    expect((await cluster.pod('parting')).metadata.uid).toBe(before.metadata.uid);
    await cluster.letGo(pods, 'parting');
    await Promise.all([cluster.untilGone(sandboxes, 'parting'), cluster.untilGone(pods, 'parting')]);
  });
});

/** One Sandbox in each state, under `prefix`. */
async function oneOfEach(prefix: string, spec: Partial<SandboxSpec>): Promise<Sandbox[]> {
  const name = (state: string): string => `${prefix}-${state}`;
  await cluster.client.create(pods, { metadata: at(name('refused')), spec: { containers: [container] } });
  const created = await Promise.all([
    cluster.create(name('pending'), spec),
    cluster.create(name('refused'), spec),
    cluster.create(name('suspended'), { ...spec, operatingMode: 'Suspended' }),
    cluster.ready(name('running'), spec),
    cluster.ready(name('finished'), spec),
    cluster.ready(name('restarting'), { ...spec, podFailurePolicy: { restart: 'Always', backoffSeconds: 300 } }),
    cluster.create(name('expired'), { ...spec, shutdownTime: formatTime(Date.now()) }),
  ]);
  await Promise.all([cluster.endPod(name('finished'), 'Succeeded'), cluster.endPod(name('restarting'), 'Succeeded')]);
  await Promise.all([
    cluster.until(name('pending'), 'Ready=False/DependenciesNotReady'),
    cluster.until(name('refused'), ERROR),
    cluster.until(name('suspended'), SUSPENDED),
    cluster.until(name('finished'), 'Finished=True/PodSucceeded'),
    cluster.untilSandbox(name('restarting'), ({ status }) => status?.phase === 'Restarting'),
    cluster.untilSandbox(
      name('expired'),
      ({ status }) => status?.phase === 'Expired' && status.startedAt === undefined,
    ),
  ]);
  return Promise.all(created.map(({ metadata }) => cluster.sandbox(metadata.name ?? '')));
}

describe('while no controller runs', () => {
  it('nothing is lost: the next controller writes only what changed', async () => {
    const before = await oneOfEach('still', withAll);
    await cluster.killController();
    await cluster.startController();
    await cluster.ready('sign-of-life');
    const after = await Promise.all(before.map(({ metadata }) => cluster.sandbox(metadata.name ?? '')));
    const versions = (found: readonly Sandbox[]) =>
      found.map(({ metadata }) => `${metadata.name ?? ''} ${metadata.resourceVersion ?? ''}`);
    expect(versions(after)).toEqual(versions(before));
  });

  it('a Sandbox in any state is deleted with its children and the disks it does not retain', async () => {
    const retain = { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain' as const } };
    const [gone, kept] = await Promise.all([oneOfEach('gone', withAll), oneOfEach('kept', { ...withAll, ...retain })]);
    await cluster.killController();
    const all = [...gone, ...kept].map(({ metadata }) => metadata.name ?? '');
    const unowned: Resource<KubeObject>[] = [pods, services];
    for (const { metadata } of [...gone, ...kept]) expect(metadata.finalizers).toBeUndefined();
    await Promise.all(
      all.map((name) => cluster.client.delete(sandboxes, at(name), { propagationPolicy: 'Foreground' })),
    );
    await Promise.all(all.map((name) => cluster.untilGone(sandboxes, name)));
    const children = (
      await Promise.all(unowned.map((resource) => Promise.all(all.map((name) => cluster.find(resource, name)))))
    )
      .flat()
      .filter((found) => found !== undefined);
    expect(children.map(({ metadata }) => metadata.name)).toEqual(['gone-refused', 'kept-refused']);
    for (const { metadata } of gone) await cluster.untilGone(persistentVolumeClaims, `work-${metadata.name ?? ''}`);
    for (const { metadata } of kept) {
      const disk = await cluster.client.get(persistentVolumeClaims, at(`work-${metadata.name ?? ''}`));
      expect(disk.metadata.deletionTimestamp).toBeUndefined();
      expect(disk.metadata.ownerReferences).toBeUndefined();
      expect(disk.metadata.labels).toEqual({ [HASH]: nameHash(metadata.name ?? '') });
    }
    await cluster.startController();
    await cluster.ready('after-all');
    expect(await cluster.isGone(pods, 'gone-running')).toBe(true);
  });
});
