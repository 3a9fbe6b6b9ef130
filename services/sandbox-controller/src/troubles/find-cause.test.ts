import { events, persistentVolumeClaims, pods } from '@sandlot/kube';
import type { Event, KubeObject } from '@sandlot/kube';
import { switchOffPacing } from '@sandlot/pacing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Harness, KEY } from '../../test/harness.ts';
import { notebook, WORK } from '../../test/builders.ts';
import { createProcessState } from '../wiring/process-state.ts';
import { findCause } from './find-cause.ts';

let h: Harness;
beforeEach(async () => {
  h = await Harness.start();
  await h.startController();
});
afterEach(() => h[Symbol.asyncDispose]());

const CLASS = { ...WORK, spec: { ...WORK.spec, storageClassName: 'fast' } };
const UNBOUND = 'pod has unbound immediate PersistentVolumeClaims';
const disk = { ...KEY, name: 'work-notebook' };

/** A Sandbox whose Pod waits for its disk. */
async function wait(message = UNBOUND): Promise<KubeObject> {
  h.create({ volumeClaimTemplates: [CLASS] });
  await h.until(() => h.pod() !== undefined, 'there is a Pod');
  const lastTransitionTime = new Date(h.clock.now()).toISOString();
  h.api.change(pods, KEY, (pod) => {
    const said = {
      type: 'PodScheduled',
      status: 'False' as const,
      reason: 'Unschedulable',
      message,
      lastTransitionTime,
    };
    pod.status = { phase: 'Pending', conditions: [said] };
  });
  const found = h.api.object(persistentVolumeClaims, disk);
  if (found === undefined) throw new Error('there is no disk');
  return found;
}

let count = 0;
/** The component that works on `object` records an Event about it. */
function say(object: KubeObject, event: Pick<Event, 'type' | 'reason' | 'note'>): void {
  const { namespace, name, uid } = object.metadata;
  const eventTime = new Date(h.clock.now()).toISOString().replace('Z', '000Z');
  h.api.seed(events, {
    metadata: { namespace, name: `${name ?? ''}.${(count += 1)}` },
    regarding: { namespace, name, uid },
    eventTime,
    action: 'Work',
    reportingController: 'example.com/worker',
    reportingInstance: 'worker-1',
    ...event,
  });
}

const listEvents = (reason: string): Event[] => h.api.objects(events).filter((event) => event.reason === reason);
const questions = (): number =>
  h.api.requests().filter(({ verb, resource }) => verb === 'list' && resource === 'events').length;

describe('a disk without a volume', () => {
  it('is reported with the latest warning about it', async () => {
    const disk = await wait();
    say(disk, { type: 'Warning', reason: 'ProvisioningFailed', note: 'no such pool' });
    await h.elapse(2_000);
    say(disk, { type: 'Warning', reason: 'ProvisioningFailed', note: 'storageclass.storage.k8s.io "fast" not found' });
    say(disk, { type: 'Normal', reason: 'ExternalProvisioning', note: 'waiting for a volume' });
    await h.until(() => listEvents('VolumeNotBound').length > 0, 'it is reported');
    expect(listEvents('VolumeNotBound').map(({ note }) => note)).toEqual([
      'PersistentVolumeClaim "work-notebook" of class "fast" has no volume: ' +
        'ProvisioningFailed: storageclass.storage.k8s.io "fast" not found',
    ]);
  });

  it.each([
    [
      'with its latest Event, where there is no warning',
      'ExternalProvisioning',
      'waiting for csi.example.com',
      /csi\.example/,
    ],
    ['in the words of the scheduler, where it only waits for its Pod', 'WaitForFirstConsumer', 'waiting', /unbound/],
  ])('is reported %s', async (...[, reason, note, expected]) => {
    say(await wait(), { type: 'Normal', reason, note });
    await h.until(() => listEvents('VolumeNotBound').length > 0, 'it is reported');
    expect(listEvents('VolumeNotBound')[0]?.note).toMatch(expected);
  });

  it('is looked up once in ten minutes, however many passes there are', async () => {
    await wait();
    await h.until(() => listEvents('VolumeNotBound').length > 0, 'it is reported');
    for (let time = 0; time < 5; time += 1) {
      h.api.change(pods, KEY, (pod) => (pod.metadata.annotations = { time: String(time) }));
      await h.elapse(1_000);
    }
    expect(questions()).toBe(1);
    expect(listEvents('VolumeNotBound')).toHaveLength(1);
  });

  it('is reported in the words of the scheduler when its Events cannot be read', async () => {
    const match = { verb: 'list', resource: 'events' } as const;
    h.api.faults.failNext({ match, answer: { status: 403, reason: 'Forbidden' }, times: 100 });
    await wait();
    await h.until(() => listEvents('VolumeNotBound').length > 0, 'it is reported');
    expect(listEvents('VolumeNotBound')[0]?.note).toContain(UNBOUND);
  });

  it('is not reported for its first seconds', async () => {
    await wait();
    await h.elapse(3_000);
    expect([listEvents('VolumeNotBound').length, questions()]).toEqual([0, 0]);
  });
});

describe('a Pod that does not start on its node', () => {
  it('is reported as soon as an Event gives a cause, and not before', async () => {
    h.create();
    await h.until(() => h.pod() !== undefined, 'there is a Pod');
    const lastTransitionTime = new Date(h.clock.now()).toISOString();
    h.api.change(pods, KEY, (pod) => {
      pod.spec.nodeName = 'node-1';
      pod.status = { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime }] };
    });
    await h.elapse(40_000);
    expect([listEvents('PodNotStarting').length, questions()]).toEqual([0, 1]);
    const pod = h.pod();
    if (pod === undefined) throw new Error('there is no Pod');
    say(pod, { type: 'Warning', reason: 'FailedMount', note: 'volume "work" is in use on node-2' });
    await h.elapse(60_000);
    expect(listEvents('PodNotStarting').map(({ note }) => note)).toEqual([
      'Pod does not start on node "node-1": FailedMount: volume "work" is in use on node-2',
    ]);
  });
});

describe('the causes of 200 troubles that are reported together', () => {
  it.each([
    ['20 lists of Events with pacing.causeReads', '', 20],
    ['200 without it', 'causeReads', 200],
  ] as const)('cost %s', async (_, off, wanted) => {
    using _off = switchOffPacing(off);
    const { clock } = h;
    const client = h.api.client({ user: 'test' });
    // On a busy machine some requests reach their deadline before the server counts them.
    const list = vi.spyOn(client, 'list');
    const deps = { client, clock, signal: new AbortController().signal };
    const { eventLists } = createProcessState(clock);
    await Promise.all(Array.from({ length: 200 }, () => findCause({ ...deps, eventLists }, notebook())));
    expect(list).toHaveBeenCalledTimes(wanted);
  });
});
