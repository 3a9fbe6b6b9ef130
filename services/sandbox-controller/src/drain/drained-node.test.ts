import { sandboxes, sandboxSnapshotClasses } from '@sandlot/api-types';
import { podDisruptionBudgets, pods } from '@sandlot/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KEY } from '../../test/harness.ts';
import { HibernationHarness } from '../../test/hibernation-harness.ts';
import { KEEP_RUNNING } from '../../test/hibernations.ts';

let h: HibernationHarness;

beforeEach(async () => {
  h = await HibernationHarness.start();
});
afterEach(() => h[Symbol.asyncDispose]());

const CORDONED = { unschedulable: true };
const BUDGET = { namespace: KEY.namespace, name: 'sandlot-memory' };
const untilBudget = (): Promise<void> => h.until(() => h.budgets().length === 1, 'there is a budget');
const untilLabel = (label: string): Promise<void> => h.until(() => h.memoryLabel() === label, `the label is ${label}`);

async function start(spec?: typeof KEEP_RUNNING): Promise<string> {
  await h.startDraining();
  const before = await h.createReady(spec);
  await untilBudget();
  return before;
}

describe('kubectl drain', () => {
  it.each([
    ['cordons the node', CORDONED],
    [
      'is that of the cluster autoscaler',
      { taints: [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }] },
    ],
    ['is that of Karpenter', { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] }],
  ])('waits until the memory is saved, and the next Pod goes on with it, when it %s', async (_, spec) => {
    const before = await start();
    h.changeNode(spec);
    expect(await h.evict()).toBe(false);
    const save = await h.untilSaving();
    expect(await h.evict()).toBe(false);
    h.completeSave();
    await h.endPod();
    expect(await h.untilNextPod(before)).toBe(save.metadata.uid);
    await h.eventually(() => expect(h.eventReasons()).toContain('MovedFromNode'));
    await h.restore();
    expect(h.sandbox().spec.operatingMode).toBeUndefined();
  });

  it('waits for the upload where the class has a bucket', async () => {
    const metadata = { name: 'far', annotations: { 'sandlot.dev/is-default-class': 'true' } };
    h.api.seed(sandboxSnapshotClasses, { metadata, spec: { store: 'Bucket' } });
    const before = await start();
    h.changeNode(CORDONED);
    await h.untilSaving();
    const savedAt = new Date(h.clock.now()).toISOString();
    h.report({ phase: 'Ready', nodeName: 'node-1', fingerprint: 'f1', savedAt });
    await h.until(() => h.readyReason() === 'DependenciesNotReady', 'it is not Ready');
    await h.elapse(5_000);
    expect([await h.evict(), h.pod()?.metadata.uid]).toEqual([false, before]);
    h.report({ remote: { state: 'Uploaded', digest: 'd', at: new Date(h.clock.now()).toISOString() } });
    await h.endPod();
    // `kubectl drain` asks again after five seconds. A Pod on another node would be evicted, or keep the drain waiting.
    await h.elapse(5_000);
    await expect(h.evict()).rejects.toThrow(/not found/);
    await h.elapse(5_000);
    expect(await h.untilNextPod(before)).toBeDefined();
  });

  it.each([
    ['Stop', undefined],
    ['KeepRunning', KEEP_RUNNING],
  ])('goes on when the memory cannot be saved and onFailure is %s', async (_, spec) => {
    const before = await start(spec);
    h.changeNode(CORDONED);
    await h.untilSaving();
    h.report({ phase: 'Failed' });
    await untilLabel('unsaved');
    expect(h.pod()?.metadata.uid).toBe(before);
    expect(await h.evict()).toBe(true);
    await h.endPod();
    h.releaseData();
    expect(await h.untilNextPod(before)).toBeUndefined();
    expect(h.eventReasons()).toContain('HibernationFailed');
  });

  it('goes on when no save ever ends', async () => {
    await start();
    h.changeNode(CORDONED);
    await h.untilSaving();
    await h.elapse(601_000);
    await untilLabel('unsaved');
    expect(await h.evict()).toBe(true);
  });

  it('goes on after a controller was killed in the middle', async () => {
    const first = await h.startDraining();
    const before = await h.createReady();
    h.changeNode(CORDONED);
    const save = await h.untilSaving();
    await h.kill(first);
    h.completeSave();
    await h.startDraining();
    await h.endPod();
    expect(await h.untilNextPod(before)).toBe(save.metadata.uid);
  });
});

describe('a node that is uncordoned', () => {
  it('keeps a Sandbox that is not saved yet', async () => {
    const before = await start();
    h.changeNode(CORDONED);
    await h.untilSaving();
    h.changeNode({});
    await h.until(
      () => h.hibernations().every(({ metadata }) => metadata.deletionTimestamp !== undefined),
      'the save ends',
    );
    h.releaseData();
    await h.elapse(5_000);
    expect([h.pod()?.metadata.uid, h.hibernations()]).toEqual([before, []]);
  });

  it('protects a Sandbox again that could not be saved', async () => {
    await start();
    h.changeNode(CORDONED);
    await h.untilSaving();
    h.report({ phase: 'Failed' });
    await untilLabel('unsaved');
    h.changeNode({});
    await untilLabel('protected');
    expect(await h.evict()).toBe(false);
  });
});

describe('a Sandbox that has run since its creation', () => {
  it('gets no Pod without its memory although no watch shows that it was saved', async () => {
    const first = await h.startDraining();
    const before = await h.createReady();
    h.changeNode(CORDONED);
    await h.untilSaving();
    await h.kill(first);
    await h.startDraining();
    using _ = h.api.faults.stallWatches({ resource: 'sandboxsnapshots' });
    const save = h.completeSave();
    h.removePod();
    expect(await h.untilNextPod(before)).toBe(save.metadata.uid);
  });
});

describe('the budget of a namespace', () => {
  it('comes with the first Pod that has memory, and goes with the last', async () => {
    await start();
    h.suspend();
    await h.hibernate();
    await h.until(() => h.budgets().length === 0, 'the budget is gone');
    h.wake();
    await untilBudget();
  });

  it('is not there for Sandboxes that stop', async () => {
    await h.startDraining();
    h.create();
    await h.untilPodRuns();
    await h.elapse(5_000);
    expect([h.memoryLabel(), h.budgets()]).toEqual([undefined, []]);
    expect(await h.evict()).toBe(true);
  });

  it('is made anew when somebody changes or deletes it', async () => {
    await start();
    const uid = h.budgets()[0]?.metadata.uid;
    const isAnew = (): boolean => h.budgets()[0]?.spec?.minAvailable === 2_147_483_647;
    h.api.change(podDisruptionBudgets, BUDGET, (budget) => {
      budget.spec = { ...budget.spec, minAvailable: 0 };
    });
    await h.until(isAnew, 'it is made anew');
    expect(h.budgets()[0]?.metadata.uid).not.toBe(uid);
    h.api.remove(podDisruptionBudgets, BUDGET);
    await untilBudget();
  });

  it('of another author is left alone', async () => {
    h.api.seed(podDisruptionBudgets, { metadata: BUDGET, spec: { minAvailable: 0 } });
    await h.startDraining();
    await h.createReady();
    await h.elapse(61_000);
    expect(h.budgets()).toMatchObject([{ spec: { minAvailable: 0 } }]);
    h.api.remove(podDisruptionBudgets, BUDGET);
    await h.elapse(61_000);
    expect(h.budgets()).toMatchObject([{ spec: { minAvailable: 2_147_483_647 } }]);
  });

  it('holds no Pod whose Sandbox was deleted without it', async () => {
    await start();
    h.api.change(pods, KEY, ({ metadata }) => (metadata.ownerReferences = []));
    h.api.remove(sandboxes, KEY);
    await h.until(() => h.memoryLabel() === undefined, 'the label is gone');
    await h.until(() => h.budgets().length === 0, 'the budget is gone');
  });
});

describe('an installation that does not move Sandboxes', () => {
  it('takes the label away', async () => {
    const first = await h.startDraining();
    await h.createReady();
    expect(h.memoryLabel()).toBe('protected');
    await h.kill(first);
    await h.startHibernating();
    await h.until(() => h.memoryLabel() === undefined, 'the label is gone');
  });
});
