import { sandboxes } from '@sandlot/api-types';
import type { SandboxSpec } from '@sandlot/api-types';
import { nodes } from '@sandlot/kube';
import type { Node } from '@sandlot/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness, NODE, PLACE } from '../../test/harness.ts';

let h: Harness;

beforeEach(async () => {
  h = await Harness.start();
  edit({ operatingMode: 'Running' });
});
afterEach(() => h[Symbol.asyncDispose]());

const empty = (spec: Node['spec']): void => void h.api.change(nodes, { name: NODE }, (node) => (node.spec = spec));
const edit = (spec: Partial<SandboxSpec>): void =>
  void h.api.change(sandboxes, { namespace: PLACE, name: 'notebook' }, (object) => Object.assign(object.spec, spec));
const saves = (): string[] => h.agent.requests.filter((request) => request.startsWith('PUT /v1/snapshots/'));

describe('the hibernation of a Sandbox that is to run', () => {
  it.each([
    ['cordoned', { unschedulable: true }],
    [
      'about to be removed by an autoscaler',
      { taints: [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }] },
    ],
  ])('is saved when its node is %s', async (_, spec) => {
    empty(spec);
    await h.startController();
    h.hibernate();
    await h.until(() => h.summary() === 'Ready/Saved');
    expect(saves()).toHaveLength(1);
  });

  it('is saved although no watch shows yet that the node is cordoned', async () => {
    await h.startController();
    using _ = h.api.faults.stallWatches({ resource: 'nodes' });
    empty({ unschedulable: true });
    h.hibernate();
    await h.until(() => h.summary() === 'Ready/Saved');
  });

  it.each([
    ['its node is uncordoned', { unschedulable: false }],
    ['its node has other taints', { taints: [{ key: 'example.com/gpu', effect: 'NoSchedule' }] }],
  ])('is refused when %s', async (_, spec) => {
    empty(spec);
    await h.startController();
    h.hibernate();
    await h.until(() => h.summary() === 'Failed/NotSuspended');
    expect(saves()).toEqual([]);
  });

  it('is refused on a cordoned node too when that does not hibernate', async () => {
    empty({ unschedulable: true });
    edit({ suspensionStrategy: { type: 'Stop' } });
    await h.startController();
    h.hibernate();
    await h.until(() => h.summary() === 'Failed/NotSuspended');
    expect(saves()).toEqual([]);
  });
});
