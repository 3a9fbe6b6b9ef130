import { sandboxes } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import type { Container } from '@sandlot/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness, KEY } from '../../test/harness.ts';

const MARK = 'sandlot.dev/inplace-cpu';
const ASKED = 'request=1,limit=2';
const CPU = { requests: { cpu: '1' }, limits: { cpu: '2' } };
const SMALL = { requests: { cpu: '100m' }, limits: { cpu: '200m' } };
const RESIZE = { verb: 'patch', resource: 'pods', subresource: 'resize' } as const;

const container = (resources: object, name = 'main') => ({ name, image: 'busybox', resources: { ...resources } });

let h: Harness;
beforeEach(async () => {
  h = await Harness.start();
  h.create({ podTemplate: { spec: { containers: [container(SMALL)] } } });
  await h.startController();
  await h.until(() => h.pod() !== undefined, 'there is a Pod');
  h.runPod();
  reportCpu(SMALL);
  await h.untilReady();
  h.api.clearRequests();
});
afterEach(() => h[Symbol.asyncDispose]());

/** A claim adopts the Sandbox and asks for CPU. */
function adopt(): void {
  h.api.change(sandboxes, KEY, (object) => {
    object.spec.podTemplate.spec.containers = [container(CPU)];
    object.metadata.annotations = { ...object.metadata.annotations, [MARK]: ASKED };
    object.metadata.generation = (object.metadata.generation ?? 1) + 1;
  });
}

/** The kubelet reports what it has set. */
function reportCpu(resources: object): void {
  h.api.change(pods, KEY, (pod) => {
    pod.status = { ...pod.status, containerStatuses: [{ name: 'main', resources: { ...resources } }] };
  });
}

/** Another writer changes the containers of the Pod. */
function editContainers(change: (first: Container) => Container[]): void {
  h.api.change(pods, KEY, (pod) => (pod.spec.containers = pod.spec.containers.flatMap(change)));
}

const readReady = () => h.status().conditions?.find(({ type }) => type === 'Ready');
const untilReason = (reason: string) => h.until(() => readReady()?.reason === reason, `Ready has reason ${reason}`);
/** Without what the API server fills in. */
const listContainers = () => h.pod()?.spec.containers.map(({ name, image, resources }) => ({ name, image, resources }));
const countResizes = (): number => h.writes().filter((write) => write === 'patch pods/resize').length;
const isMarked = (): boolean => h.pod()?.metadata.annotations?.[MARK] === ASKED;

describe('a Pod with CPU that a claim asks for', () => {
  it('is resized, and its Sandbox is Ready again when the node has set it', async () => {
    adopt();
    await h.until(isMarked, 'the API server has accepted it');
    expect(listContainers()).toEqual([container(CPU)]);
    await untilReason('ResizePending');
    reportCpu(CPU);
    await h.untilReady();
    expect(readReady()?.observedGeneration).toBe(h.sandbox().metadata.generation);
    expect(countResizes()).toBe(1);
    expect(h.writes()).not.toContain('delete pods');
  });

  it('is resized once, and a later change by another writer stays', async () => {
    adopt();
    await h.until(isMarked, 'the API server has accepted it');
    reportCpu(CPU);
    await h.untilReady();
    editContainers((first) => [{ ...first, resources: { ...SMALL } }]);
    reportCpu(SMALL);
    await h.elapse(60_000);
    expect(listContainers()).toEqual([container(SMALL)]);
    expect([readReady()?.status, countResizes()]).toEqual(['True', 1]);
  });

  it('keeps the containers that admission added', async () => {
    const sidecar = container(SMALL, 'a-sidecar');
    editContainers((first) => [{ ...first, ...sidecar }, first]);
    adopt();
    await h.until(isMarked, 'the API server has accepted it');
    expect(listContainers()).toEqual([sidecar, container(CPU)]);
  });

  it('is not resized when it has the CPU already', async () => {
    editContainers((first) => [{ ...first, resources: { ...CPU } }]);
    reportCpu(CPU);
    adopt();
    await h.until(isMarked, 'that is noted');
    await h.untilReady();
    expect(countResizes()).toBe(0);
  });

  it('is created with it after a restart, without a resize', async () => {
    adopt();
    await h.until(isMarked, 'the API server has accepted it');
    h.api.clearRequests();
    h.removePod();
    await h.until(() => h.pod() !== undefined, 'there is another Pod');
    expect([listContainers(), isMarked()]).toEqual([[container(CPU)], true]);
    await h.elapse(1_000);
    expect(countResizes()).toBe(0);
  });

  it('is not resized again after a crash or a lost answer in between', async () => {
    h.api.faults.errorAfterCommit({ match: RESIZE, answer: { status: 500 } });
    h.api.faults.failNext({ match: { ...RESIZE, subresource: '' }, answer: { status: 500 } });
    adopt();
    await h.until(isMarked, 'the API server has accepted it');
    expect(countResizes()).toBe(1);
  });

  it('is resized after a conflict with the kubelet', async () => {
    h.api.faults.failNext({ match: RESIZE, answer: { status: 409, reason: 'Conflict' }, times: 2 });
    adopt();
    await h.until(isMarked, 'the API server has accepted it');
    expect(listContainers()).toEqual([container(CPU)]);
  });
});

describe('a resize that does not succeed', () => {
  const refuse = (answer: { status: number; reason: string; message: string }) =>
    h.api.faults.failNext({ match: RESIZE, answer, times: 1_000 });

  /** Other writers change the Sandbox and its Pod, which brings passes. */
  async function disturb(): Promise<void> {
    for (let round = 0; round < 20; round += 1) {
      const note = { disturbed: String(round) };
      h.api.change(sandboxes, KEY, ({ metadata }) => void Object.assign(metadata.annotations ?? {}, note));
      await h.elapse(1);
    }
  }

  it.each([
    [403, 'Forbidden', 'exceeded quota: team, requested: limits.cpu=1800m', 'Raise the ResourceQuota of the namespace'],
    [
      403,
      'Forbidden',
      'maximum cpu usage per Container is 1, but limit is 2',
      'that the LimitRange of the namespace allows',
    ],
    [422, 'Invalid', 'Pod QOS Class may not change as a result of resizing', 'Ask for CPU that keeps the QoS class'],
    [
      403,
      'Forbidden',
      "node didn't have enough allocatable resources: cpu, requested: 64000, allocatable: 2000",
      'Ask for less, or use nodes that have it',
    ],
    [
      422,
      'Invalid',
      'Pod running on node without support for resize',
      'Use nodes whose kubelet is Kubernetes 1.33 or newer',
    ],
    [404, 'NotFound', 'the server could not find the requested resource', 'it needs Kubernetes 1.33 or newer'],
  ])('shows what the API server refuses, and does not ask again at once: %i %s, %s', async (...answer) => {
    const [status, reason, message, advice] = answer;
    refuse({ status, reason, message });
    adopt();
    await untilReason('ResizeRejected');
    expect(readReady()?.message).toContain(advice);
    if (status !== 404) expect(readReady()?.message).toContain(message);
    const before = countResizes();
    await disturb();
    expect(countResizes() - before).toBeLessThanOrEqual(1);
    await h.elapse(60_000);
    expect(countResizes()).toBeLessThanOrEqual(12);
    expect(h.writes()).not.toContain('create pods');
    h.api.faults.clear();
    await h.until(isMarked, 'the API server has accepted it at last');
  });

  it('reports an API server that stores another CPU, and does not ask again at once', async () => {
    // No container of the Pod has the name, so the patch changes nothing, as when a webhook undoes it.
    editContainers((first) => [{ ...first, name: 'renamed' }]);
    adopt();
    await untilReason('ResizeRejected');
    expect(readReady()?.message).toContain('an admission webhook may set resources');
    const before = countResizes();
    await disturb();
    expect(countResizes() - before).toBeLessThanOrEqual(1);
  });

  it('does not hide that the Sandbox is suspended', async () => {
    refuse({ status: 403, reason: 'Forbidden', message: 'exceeded quota: team' });
    adopt();
    await untilReason('ResizeRejected');
    h.edit((spec) => (spec.operatingMode = 'Suspended'));
    await untilReason('SandboxSuspended');
  });
});
