import { sandboxes } from '@sandlot/api-types';
import { persistentVolumeClaims, pods } from '@sandlot/kube';
import type { FaultAnswer, RequestMatch } from '@sandlot/kube-testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness, KEY } from '../test/harness.ts';
import { WORK } from '../test/builders.ts';

let h: Harness;
beforeEach(async () => {
  h = await Harness.start();
});
afterEach(() => h[Symbol.asyncDispose]());

const WRITES: readonly (readonly [string, RequestMatch])[] = [
  ['the creation of the disk', { verb: 'create', resource: 'persistentvolumeclaims' }],
  ['the creation of the Pod', { verb: 'create', resource: 'pods' }],
  ['the creation of the Service', { verb: 'create', resource: 'services' }],
  ['the annotation with the name of the Pod', { verb: 'patch', resource: 'sandboxes', subresource: '' }],
  ['the status', { verb: 'patch', resource: 'sandboxes', subresource: 'status' }],
];

const create = (): void => h.create({ service: true, volumeClaimTemplates: [WORK] });

/** Plays the kubelet until the Sandbox is Ready, then looks at what there is. */
async function settle(): Promise<void> {
  await h.until(() => h.pod() !== undefined, 'there is a Pod');
  h.runPod();
  await h.untilReady();
  expect(h.api.objects(pods)).toHaveLength(1);
  expect([h.diskNames(), h.serviceNames()]).toEqual([['work-notebook'], ['notebook']]);
}

describe('a Sandbox settles with one Pod, one disk and one Service', () => {
  const answers: readonly (readonly [string, FaultAnswer])[] = [
    ['a conflict', { status: 409, reason: 'Conflict' }],
    ['an overloaded server', { status: 500 }],
    ['a lost connection', 'reset'],
  ];
  const refused = WRITES.flatMap(([write, match]) =>
    answers.map(([answer, fault]) => ({ write, match, answer, fault })),
  );

  it.each(refused)('when $write meets $answer', async ({ match, fault }) => {
    h.api.faults.failNext({ match, answer: fault });
    await h.startController();
    create();
    await settle();
  });

  it.each(WRITES.map(([write, match]) => ({ write, match })))(
    'when $write is committed and answered with an error',
    async ({ match }) => {
      h.api.faults.errorAfterCommit({ match, answer: 'reset' });
      await h.startController();
      create();
      await settle();
    },
  );

  it.each([0, 1, 2, 3, 4, 5])('when the controller dies after %i writes and another one takes over', async (writes) => {
    const match = { user: 'sandbox-controller' };
    const first = await h.startController();
    const death = h.api.faults.failAfterWrites(writes, { match });
    create();
    await h.until(
      () => h.api.writes().filter(({ code }) => code >= 200 && code < 300).length >= Math.min(writes, 3),
      'it got that far',
    );
    if (h.pod() !== undefined) h.runPod();
    await h.kill(first);
    death.end();
    await h.startController();
    await settle();
  });

  it('when the watches drop and are answered 410', async () => {
    await h.startController();
    create();
    h.api.faults.expireResourceVersions({ live: true });
    h.api.faults.dropWatches();
    await settle();
  });
});

describe('an expiry that deletes the Sandbox and retains its disks', () => {
  const spec = {
    volumeClaimTemplates: [WORK],
    shutdownPolicy: 'Delete',
    persistentVolumeClaimRetentionPolicy: { whenExpired: 'Retain' },
  } as const;

  async function expire(): Promise<void> {
    await h.until(() => h.pod() !== undefined, 'there is a Pod');
    h.runPod();
    await h.untilReady();
    h.edit((edited) => (edited.shutdownTime = '2026-01-01T00:00:00Z'));
    await h.until(() => h.api.object(sandboxes, KEY) === undefined, 'the Sandbox is gone');
    h.removePod();
    await h.until(() => h.pod() === undefined, 'the Pod is gone');
    expect(h.diskNames()).toEqual(['work-notebook']);
  }

  it('keeps the Sandbox until its disks are released', async () => {
    const match = { verb: 'patch', resource: 'persistentvolumeclaims' } as const;
    h.api.faults.failNext({ match, answer: { status: 403, reason: 'Forbidden' }, times: 3 });
    await h.startController();
    h.create({ ...spec, volumeClaimTemplates: [...spec.volumeClaimTemplates] });
    await expire();
    expect(h.api.writes().filter(({ verb, code }) => verb === 'patch' && code === 0).length).toBeGreaterThan(0);
  });

  it('releases a disk that its cache does not show', async () => {
    await h.startController();
    h.create({ ...spec, volumeClaimTemplates: [...spec.volumeClaimTemplates] });
    await h.until(() => h.pod() !== undefined, 'there is a Pod');
    const disk = { ...KEY, name: 'work-notebook' };
    h.api.change(persistentVolumeClaims, disk, (disk) => (disk.metadata.labels = {}));
    await expire();
  });
});

describe('a cache that lags', () => {
  it('does not make the controller repeat a write', async () => {
    await h.startController();
    const stall = h.api.faults.stallWatches({ resource: 'pods' });
    create();
    await h.until(() => h.sandbox().metadata.annotations !== undefined, 'the Pod is on record');
    h.api.clearRequests();
    h.edit((spec) => (spec.ttlSeconds = 100_000));
    await h.until(() => h.status().expiresAt !== undefined, 'the edit was acted on');
    stall.end();
    h.runPod();
    await h.untilReady();
    expect(h.writes().filter((write) => write.startsWith('create') || write.startsWith('delete'))).toEqual([]);
  });

  it('repairs a wrong name of the Pod that its own write hid', async () => {
    await h.startController();
    create();
    const name = () => h.sandbox().metadata.annotations?.['agents.x-k8s.io/pod-name'];
    await h.until(() => name() === 'notebook', 'the Pod is on record');
    h.api.faults.dropEvents(1, { resource: 'sandboxes' });
    h.runPod();
    await h.untilReady();
    h.api.change(sandboxes, KEY, (object) => {
      object.metadata.annotations = { 'agents.x-k8s.io/pod-name': 'elsewhere' };
    });
    await h.until(() => name() === 'notebook', 'the name is repaired');
  });

  it('does not hide that a Pod was gone', async () => {
    await h.startController();
    create();
    await settle();
    const seen: string[] = [];
    h.api.onChange(sandboxes, () => {
      seen.push(h.status().conditions?.find((condition) => condition.type === 'Ready')?.status ?? 'none');
    });
    const death = h.api.faults.failAfterWrites(2, { match: { user: 'sandbox-controller' } });
    h.removePod();
    await h.until(() => h.pod() !== undefined, 'the successor was created');
    h.runPod('10.0.0.9');
    death.end();
    await h.until(() => h.status().podIPs?.[0] === '10.0.0.9', 'the successor is Ready');
    expect(seen[0]).toBe('False');
  });
});

describe('a restarted controller', () => {
  it('writes nothing for Sandboxes that are up to date', async () => {
    const first = await h.startController();
    create();
    await settle();
    await h.kill(first);
    h.api.clearRequests();
    await h.startController();
    h.edit((spec) => (spec.ttlSeconds = 100_000));
    await h.until(() => h.status().expiresAt !== undefined, 'the new controller has looked');
    expect(h.writes()).toEqual(['patch sandboxes/status']);
  });
});

/** The kubelet stops terminating Pods, and nothing of the Sandbox is left. */
function nothingIsLeft(): boolean {
  h.removePod();
  return h.pod() === undefined && h.serviceNames().length === 0 && h.diskNames().length === 0;
}

describe('a Sandbox that is deleted', () => {
  it.each([
    ['before its Pod', (): boolean => true],
    ['after its Pod', (): boolean => h.pod() !== undefined],
    ['after its status', (): boolean => h.status().conditions !== undefined],
  ])('%s leaves nothing behind', async (_, reached) => {
    await h.startController();
    create();
    await h.until(reached, 'it got that far');
    h.api.remove(sandboxes, KEY);
    await h.until(nothingIsLeft, 'nothing is left');
  });

  it('while the controller is down leaves nothing behind', async () => {
    const first = await h.startController();
    create();
    await settle();
    await h.kill(first);
    h.api.remove(sandboxes, KEY);
    await h.startController();
    await h.until(nothingIsLeft, 'nothing is left');
  });
});
