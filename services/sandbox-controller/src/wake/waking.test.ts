import { sandboxes } from '@sandlot/api-types';
import { formatEventId } from '@sandlot/bus';
import { pods } from '@sandlot/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness, KEY } from '../../test/harness.ts';

let h: Harness;
beforeEach(async () => {
  h = await Harness.start();
});
afterEach(() => h[Symbol.asyncDispose]());

let requests = 0;

/** The gateway asks for the Sandbox; by its UID unless the test says otherwise. */
function ask(uid = h.sandbox().metadata.uid ?? '', generation = h.sandbox().metadata.generation): void {
  const type = 'sandbox.wake.requested';
  const id = formatEventId({ uid, type, marker: (requests += 1) });
  h.bus.publish({ type, id, timeMs: h.clock.now(), data: { ...KEY, uid, generation } });
}

const isRunning = (): boolean => h.sandbox().spec.operatingMode === 'Running';
/** Committed writes of the spec: here only the answer to a request makes one. */
const resumes = (): number =>
  h.api.writes().filter(({ code, body }) => code === 200 && JSON.stringify(body).includes('"Running"}')).length;

/** Runs until idleness has suspended it and its Pod is gone. */
async function fallAsleep(): Promise<void> {
  h.create({ idle: { suspendAfterSeconds: 60 } });
  await h.until(() => h.pod() !== undefined, 'there is a Pod');
  h.runPod();
  await h.untilReady();
  await h.until(() => h.pod()?.metadata.deletionTimestamp !== undefined, 'idleness has suspended it');
  h.removePod();
  await h.until(() => h.status().phase === 'Suspended', 'it is suspended');
  h.api.clearRequests();
}

describe('a Sandbox suspended for idleness', () => {
  it('resumes once for any number of requests, and its idle clock restarts', async () => {
    await h.startController();
    await fallAsleep();
    for (let count = 0; count < 5; count += 1) ask();
    await h.until(() => h.pod() !== undefined, 'there is a new Pod');
    h.runPod();
    await h.untilReady();
    expect(isRunning()).toBe(true);
    expect(h.sandbox().metadata.annotations?.['sandlot.dev/suspended-by']).toBeUndefined();
    expect(resumes()).toBe(1);
    await h.elapse(30_000);
    expect(h.status().phase).toBe('Running');
  });

  it('resumes although the patch meets a conflict', async () => {
    await h.startController();
    await fallAsleep();
    const match = { verb: 'patch', resource: 'sandboxes', subresource: '' } as const;
    h.api.faults.failNext({ match, answer: { status: 409, reason: 'Conflict' }, times: 2 });
    ask();
    await h.until(isRunning, 'it is resumed');
  });

  it('resumes although the cache does not show its suspension yet', async () => {
    await h.startController();
    h.create();
    await h.until(() => h.pod() !== undefined, 'there is a Pod');
    h.runPod();
    await h.untilReady();
    await h.elapse(100);
    const stall = h.api.faults.stallWatches({ resource: 'sandboxes' });
    h.api.change(sandboxes, KEY, (object) => {
      object.spec.operatingMode = 'Suspended';
      object.metadata.generation = (object.metadata.generation ?? 1) + 1;
      object.metadata.annotations = { ...object.metadata.annotations, 'sandlot.dev/suspended-by': 'API' };
    });
    ask();
    await h.elapse(500);
    expect(isRunning()).toBe(false);
    stall.end();
    await h.until(isRunning, 'it is resumed');
  });

  it('resumes in a new Pod while the old one is still terminating', async () => {
    await h.startController();
    h.create({ idle: { suspendAfterSeconds: 60 } });
    await h.until(() => h.pod() !== undefined, 'there is a Pod');
    h.runPod();
    await h.untilReady();
    const uid = h.pod()?.metadata.uid;
    await h.until(() => h.pod()?.metadata.deletionTimestamp !== undefined, 'idleness has suspended it');
    ask();
    await h.until(isRunning, 'it is resumed');
    h.removePod();
    await h.until(() => h.api.objects(pods).some((pod) => pod.metadata.uid !== uid), 'there is a new Pod');
  });

  it('stays suspended when a repeated request for its last suspension comes after the next one', async () => {
    await h.startController();
    await fallAsleep();
    const { uid, generation } = h.sandbox().metadata;
    ask();
    await h.until(() => h.pod() !== undefined, 'there is a new Pod');
    h.runPod();
    await h.untilReady();
    h.api.change(sandboxes, KEY, (object) => {
      object.spec.operatingMode = 'Suspended';
      object.metadata.generation = (object.metadata.generation ?? 1) + 1;
      object.metadata.annotations = { ...object.metadata.annotations, 'sandlot.dev/suspended-by': 'API' };
    });
    ask(uid, generation);
    await h.elapse(6_000);
    expect([isRunning(), resumes()]).toEqual([false, 1]);
    ask();
    await h.until(isRunning, 'it is resumed');
  });

  it('ignores a request for another UID of its name', async () => {
    await h.startController();
    await fallAsleep();
    ask('uid-of-a-former-life');
    await h.elapse(6_000);
    expect([isRunning(), resumes()]).toEqual([false, 0]);
  });
});

describe('a Sandbox that its owner suspended', () => {
  it('is not resumed, and every answer is counted', async () => {
    const { registry } = await h.startController();
    h.create({ operatingMode: 'Suspended' });
    await h.until(() => h.status().phase === 'Suspended', 'it is suspended');
    ask();
    const counted = async (): Promise<string | undefined> =>
      (await registry.metrics()).split('\n').find((line) => line.includes('wake_requests_total{answer="owner"}'));
    await h.elapse(500);
    expect(await counted()).toBe('sandlot_sandbox_wake_requests_total{answer="owner"} 1');
    expect(isRunning()).toBe(false);
  });
});
