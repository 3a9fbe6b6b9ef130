import { sandboxes, sandboxSnapshots } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { KEY } from '../../test/harness.ts';
import { HibernationHarness } from '../../test/hibernation-harness.ts';
import { HIBERNATE } from '../../test/hibernations.ts';

const { namespace } = KEY;
const names = Array.from({ length: 11 }, (_, at) => `box-${at}`);
let h: HibernationHarness;

beforeEach(async () => {
  h = await HibernationHarness.start();
});
afterEach(() => h[Symbol.asyncDispose]());

const saves = (): string[] => h.hibernations().map(({ spec }) => spec.sandboxName);
const listPods = () => h.api.objects(pods, namespace);

/** The kubelet of the node runs every Pod. */
async function startAll(): Promise<void> {
  const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };
  for (const name of names) {
    h.api.seed(sandboxes, {
      metadata: { namespace, name },
      spec: { podTemplate, shutdownPolicy: 'Retain', ...HIBERNATE },
    });
  }
  await h.until(() => listPods().length === names.length, 'each has a Pod');
  for (const name of names) {
    h.api.change(pods, { namespace, name }, (pod) => {
      pod.spec.nodeName = 'node-1';
      pod.status = { phase: 'Running', podIPs: [{ ip: '10.0.0.7' }], conditions: [{ type: 'Ready', status: 'True' }] };
    });
  }
  await h.elapse(2_000);
}

/** The agent has saved the Pod of this Sandbox, or has not. */
function finishSave(sandboxName: string, phase: 'Ready' | 'Failed'): void {
  const save = h.hibernations().find(({ spec }) => spec.sandboxName === sandboxName);
  const pod = listPods().find(({ metadata }) => metadata.name === sandboxName);
  h.api.change(sandboxSnapshots, { namespace, name: save?.metadata.name ?? '' }, (object) => {
    const source = { sandboxUID: '', podName: sandboxName, podUID: pod?.metadata.uid ?? '', nodeName: 'node-1' };
    object.status = { phase, source, nodeName: 'node-1', fingerprint: 'f1', savedAt: '2026-01-01T12:00:00Z' };
  });
}

it('the Sandboxes of a node are saved eight at a time, and the next one follows at once', async () => {
  await h.startDraining();
  await startAll();
  h.changeNode({ unschedulable: true });
  await h.until(() => saves().length === 8, 'eight are being saved');
  await h.elapse(10_000);
  const first = saves();
  expect(first).toHaveLength(8);

  const [left = '', failed = ''] = first;
  finishSave(left, 'Ready');
  await h.until(() => saves().some((name) => !first.includes(name)), 'another one follows the one that left');
  expect(saves()).toHaveLength(9);

  finishSave(failed, 'Failed');
  const isUnsaved = (): boolean =>
    listPods().some(
      ({ metadata }) => metadata.name === failed && metadata.labels?.['sandlot.dev/memory'] === 'unsaved',
    );
  await h.until(isUnsaved, 'the one that failed is given up');
  await h.until(() => saves().filter((name) => !first.includes(name)).length === 2, 'another one follows that');
});
