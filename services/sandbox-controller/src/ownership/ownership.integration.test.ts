import { nameHash, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxSpec } from '@sandlot/api-types';
import { persistentVolumeClaims, pods, services } from '@sandlot/kube';
import type { KubeObject, ObjectMeta, Resource } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  READY,
  RealWorld,
  SUSPENDED,
  TIME,
  at,
  container,
  eventually,
  expected,
  messageOf,
  ownedBy,
  running,
  summaryOf,
  timeOf,
  wholeStatus,
  work,
} from '../../test/real-cluster.ts';

const HASH = 'agents.x-k8s.io/sandbox-name-hash';
const ADOPTABLE = 'agents.x-k8s.io/adoptable';
const ERROR = 'Ready=False/ReconcilerError';

let world: RealWorld;
beforeAll(async () => {
  world = await RealWorld.start();
});
afterAll(() => world[Symbol.asyncDispose]());

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
      await world.client.create(pods, { metadata, spec: { containers: [container] } });
      return world.report(metadata.name ?? '', running());
    },
    read: (name) => world.pod(name),
  },
  {
    noun: 'service',
    nameFor: (sandbox) => sandbox,
    create: (metadata) => world.client.create(services, { metadata, spec: { clusterIP: 'None' } }),
    read: (name) => world.client.get(services, at(name)),
  },
  {
    noun: 'PVC',
    nameFor: (sandbox) => `work-${sandbox}`,
    create: (metadata) => world.client.create(persistentVolumeClaims, { metadata, spec: work.spec }),
    read: (name) => world.client.get(persistentVolumeClaims, at(name)),
  },
];

const withAll = { service: true, volumeClaimTemplates: [work] };

/** The kubelet runs the Pod of the Sandbox if there is to be one. */
const runUnless = async (kind: Kind, name: string): Promise<void> => {
  if (kind.noun !== 'pod' && kind.noun !== 'PVC') await world.runPod(name);
};

describe.concurrent('what has the name of a child', () => {
  it.each(kinds)('is left alone and named while it belongs to somebody else: $noun', async (kind) => {
    const sandbox = `foreign-${kind.noun.toLowerCase()}`;
    const name = kind.nameFor(sandbox);
    const owner = await world.stranger();
    const before = await kind.create({ ...at(name), labels: { [HASH]: nameHash(sandbox) }, ownerReferences: [owner] });
    await world.create(sandbox, withAll);
    await runUnless(kind, sandbox);
    const text = `Error seen: ${kind.noun} "${name}" is owned by ConfigMap/landlord (UID: ${owner.uid}), not by sandbox "${sandbox}"`;
    const ips = kind.noun === 'service' ? ['10.0.0.7'] : undefined;
    const refused = await world.untilSandbox(sandbox, ({ status }) => status?.podIPs?.[0] === ips?.[0]);
    expect(refused.status?.podIPs).toEqual(ips);
    expect(summaryOf(await world.untilSaid(sandbox, text))).toContain(ERROR);
    expect((await kind.read(name)).metadata).toEqual(before.metadata);
  });

  it.each(kinds)('is left alone and named while it belongs to nobody: $noun', async (kind) => {
    const sandbox = `unowned-${kind.noun.toLowerCase()}`;
    const name = kind.nameFor(sandbox);
    const before = await kind.create(at(name));
    await world.create(sandbox, withAll);
    await runUnless(kind, sandbox);
    const text =
      `Error seen: cannot adopt unowned ${kind.noun} "${name}": missing required pool authorization label ` +
      `("${ADOPTABLE}") or sandbox tracking label ("${HASH}")`;
    expect(summaryOf(await world.untilSaid(sandbox, text))).toContain(ERROR);
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
    const created = await world.create(sandbox, withAll);
    if (kind.noun !== 'pod') await world.runPod(sandbox);
    await world.until(sandbox, READY);
    const child = await kind.read(name);
    expect(child.metadata.uid).toBe(metadata.uid);
    expect(child.metadata.ownerReferences).toEqual(ownedBy(created));
    expect(child.metadata.labels).toEqual({ ...label, [HASH]: nameHash(sandbox) });
  });

  it('and is a Service with an address cannot become the child', async () => {
    const labels = { [ADOPTABLE]: 'true' };
    const service = { metadata: { ...at('addressed'), labels }, spec: { ports: [{ port: 80 }] } };
    const { spec } = await world.client.create(services, service);
    await world.create('addressed', { service: true });
    await world.runPod('addressed');
    const said = `Error seen: cannot adopt service "addressed": ClusterIP is "${spec?.clusterIP ?? ''}" (expected "None", field is immutable)`;
    await world.untilSaid('addressed', said);
  });

  it('lets the Sandbox go on as soon as its owner has deleted it', async () => {
    const labels = { [HASH]: nameHash('patient') };
    const before = await world.client.create(pods, {
      metadata: { ...at('patient'), labels, ownerReferences: [await world.stranger()] },
      spec: { containers: [container] },
    });
    await world.create('patient');
    const refused = await world.until('patient', ERROR);
    const unknown =
      'PodScheduled=Unknown/PodSchedulingUnknown: Pod state is unknown. Pod scheduling cannot be determined';
    const notSuspended = 'Suspended=False/NotSuspended: Sandbox is not suspended';
    const ready = `Ready=False/ReconcilerError: ${messageOf(refused, 'Ready') ?? ''}`;
    expect(wholeStatus(refused)).toEqual(
      expected({
        conditions: [unknown, ready, notSuspended],
        selector: `${HASH}=${nameHash('patient')}`,
        startedAt: TIME,
        phase: 'Pending',
      }),
    );
    await world.client.delete(pods, at('patient'));
    await world.runPod('patient', before);
    await world.until('patient', READY);
  });
});

describe.concurrent('a disk', () => {
  it('follows whenDeleted as it is edited', async () => {
    const sandbox = await world.ready('fickle', { volumeClaimTemplates: [work] });
    const owners = async () =>
      (await world.client.get(persistentVolumeClaims, at('work-fickle'))).metadata.ownerReferences;
    expect(await owners()).toEqual(ownedBy(sandbox));
    await world.edit('fickle', { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain' } });
    await eventually(owners, (found) => found === undefined);
    await world.edit('fickle', { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' } });
    expect(await eventually(owners, (found) => found !== undefined)).toEqual(ownedBy(sandbox));
  });
});

describe.concurrent('a Sandbox that is being deleted', () => {
  it('gets no other Pod while a finalizer holds its last one', async () => {
    const { metadata } = await world.ready('parting');
    const before = await world.pod('parting');
    await world.hold(pods, 'parting');
    await world.client.delete(sandboxes, at('parting'), { propagationPolicy: 'Foreground' });
    await eventually(
      () => world.pod('parting'),
      (pod) => pod.metadata.deletionTimestamp !== undefined,
    );
    const parting = await world.sandbox('parting');
    expect(parting.metadata.uid).toBe(metadata.uid);
    expect(parting.metadata.finalizers).toEqual(['foregroundDeletion']);
    expect((await world.pod('parting')).metadata.uid).toBe(before.metadata.uid);
    await world.letGo(pods, 'parting');
    await Promise.all([world.untilGone(sandboxes, 'parting'), world.untilGone(pods, 'parting')]);
  });
});

/** One Sandbox in each state, under `prefix`. */
async function oneOfEach(prefix: string, spec: Partial<SandboxSpec>): Promise<Sandbox[]> {
  const name = (state: string): string => `${prefix}-${state}`;
  await world.client.create(pods, { metadata: at(name('refused')), spec: { containers: [container] } });
  const created = await Promise.all([
    world.create(name('pending'), spec),
    world.create(name('refused'), spec),
    world.create(name('suspended'), { ...spec, operatingMode: 'Suspended' }),
    world.ready(name('running'), spec),
    world.ready(name('finished'), spec),
    world.ready(name('restarting'), { ...spec, podFailurePolicy: { restart: 'Always', backoffSeconds: 300 } }),
    world.create(name('expired'), { ...spec, shutdownTime: timeOf(Date.now()) }),
  ]);
  await Promise.all([world.endPod(name('finished'), 'Succeeded'), world.endPod(name('restarting'), 'Succeeded')]);
  await Promise.all([
    world.until(name('pending'), 'Ready=False/DependenciesNotReady'),
    world.until(name('refused'), ERROR),
    world.until(name('suspended'), SUSPENDED),
    world.until(name('finished'), 'Finished=True/PodSucceeded'),
    world.untilSandbox(name('restarting'), ({ status }) => status?.phase === 'Restarting'),
    world.untilSandbox(name('expired'), ({ status }) => status?.phase === 'Expired' && status.startedAt === undefined),
  ]);
  return Promise.all(created.map(({ metadata }) => world.sandbox(metadata.name ?? '')));
}

describe('while no controller runs', () => {
  it('nothing is forgotten: the next one writes nothing about what did not change', async () => {
    const before = await oneOfEach('still', withAll);
    await world.killController();
    await world.startController();
    await world.ready('sign-of-life');
    const after = await Promise.all(before.map(({ metadata }) => world.sandbox(metadata.name ?? '')));
    const versions = (found: readonly Sandbox[]) =>
      found.map(({ metadata }) => `${metadata.name ?? ''} ${metadata.resourceVersion ?? ''}`);
    expect(versions(after)).toEqual(versions(before));
  });

  it('a Sandbox in any state takes its children with it, and the disks it should', async () => {
    const retain = { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain' as const } };
    const [gone, kept] = await Promise.all([oneOfEach('gone', withAll), oneOfEach('kept', { ...withAll, ...retain })]);
    await world.killController();
    const all = [...gone, ...kept].map(({ metadata }) => metadata.name ?? '');
    const unowned: Resource<KubeObject>[] = [pods, services];
    for (const { metadata } of [...gone, ...kept]) expect(metadata.finalizers).toBeUndefined();
    await Promise.all(all.map((name) => world.client.delete(sandboxes, at(name), { propagationPolicy: 'Foreground' })));
    await Promise.all(all.map((name) => world.untilGone(sandboxes, name)));
    const children = (
      await Promise.all(unowned.map((resource) => Promise.all(all.map((name) => world.find(resource, name)))))
    )
      .flat()
      .filter((found) => found !== undefined);
    expect(children.map(({ metadata }) => metadata.name)).toEqual(['gone-refused', 'kept-refused']);
    for (const { metadata } of gone) await world.untilGone(persistentVolumeClaims, `work-${metadata.name ?? ''}`);
    for (const { metadata } of kept) {
      const claim = await world.client.get(persistentVolumeClaims, at(`work-${metadata.name ?? ''}`));
      expect(claim.metadata.deletionTimestamp).toBeUndefined();
      expect(claim.metadata.ownerReferences).toBeUndefined();
      expect(claim.metadata.labels).toEqual({ [HASH]: nameHash(metadata.name ?? '') });
    }
    await world.startController();
    await world.ready('after-all');
    expect(await world.isGone(pods, 'gone-running')).toBe(true);
  });
});
