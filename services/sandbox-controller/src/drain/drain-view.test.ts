import { labels } from '@sandlot/api-types';
import type { SandboxSnapshotClass } from '@sandlot/api-types';
import type { Node, Pod } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import type { PodParts } from '../../test/builders.ts';
import { podOf, sleeper } from '../../test/hibernations.ts';
import { DrainView } from './drain-view.ts';

const PROTECTED = { [labels.memory]: 'protected' };
const names = Array.from({ length: 12 }, (_, at) => `pod-${String(at).padStart(2, '0')}`);
const protectedPods = (parts: PodParts = {}): Pod[] => names.map((uid) => podOf(uid, { labels: PROTECTED, ...parts }));
const cordoned: Node = { metadata: { name: 'node-1' }, spec: { unschedulable: true } };
const classOf = (name: string, store: 'Node' | 'Bucket', isDefault = false): SandboxSnapshotClass => ({
  metadata: { name, annotations: isDefault ? { 'sandlot.dev/is-default-class': 'true' } : {} },
  spec: { store },
});

function view(pods: readonly Pod[], node: Node = cordoned, classes: readonly SandboxSnapshotClass[] = []): DrainView {
  return new DrainView({
    pods: { listByIndex: (_, name) => pods.filter(({ spec }) => spec.nodeName === name) },
    nodes: { get: (name) => (name === node.metadata.name ? node : undefined) },
    classes: { get: (name) => classes.find(({ metadata }) => metadata.name === name), values: () => classes },
  });
}

const countTurns = (seen: DrainView, pods: readonly Pod[]): number =>
  pods.filter((pod) => seen.find(sleeper(), pod)?.hasTurn === true).length;

describe('the Sandboxes of a node that is being emptied', () => {
  it('take turns, eight at a time', () => {
    const pods = protectedPods();
    expect(countTurns(view(pods), pods)).toBe(8);
  });

  it('follow those that leave, have lost their memory or have none', () => {
    const pods = protectedPods();
    const rest = pods.slice(4);
    const changed = [
      podOf('pod-00', { labels: PROTECTED, terminating: true }),
      podOf('pod-01', { labels: { [labels.memory]: 'unsaved' } }),
      podOf('pod-02', { labels: PROTECTED, phase: 'Failed' }),
      podOf('pod-03', { labels: PROTECTED, phase: 'Pending' }),
    ];
    expect(countTurns(view([...changed, ...rest]), rest)).toBe(8);
  });

  it('do not wait for those of other nodes', () => {
    const pods = protectedPods();
    const last = podOf('pod-99', { labels: PROTECTED });
    expect(view([...protectedPods({ node: 'node-2' }), last]).find(sleeper(), last)?.hasTurn).toBe(true);
    expect(view([...pods, last]).find(sleeper(), last)?.hasTurn).toBe(false);
  });
});

describe('the node of a Pod', () => {
  const pod = podOf('pod-1', { labels: PROTECTED });
  it.each<readonly [string, Node]>([
    ['that takes Pods', { metadata: { name: 'node-1' }, spec: {} }],
    ['that no cache shows', { metadata: { name: 'node-2' }, spec: { unschedulable: true } }],
  ])('%s stays', (_, node) => {
    expect(view([pod], node).find(sleeper(), pod)).toBeUndefined();
  });

  it('of a Sandbox without a Pod is not known', () => {
    expect(view([]).find(sleeper(), undefined)).toBeUndefined();
  });
});

describe('an upload is awaited', () => {
  const pod = podOf('pod-1', { labels: PROTECTED });
  const named = sleeper({ suspensionStrategy: { type: 'Hibernate', hibernate: { snapshotClassName: 'far' } } });
  const classes = [classOf('far', 'Bucket'), classOf('near', 'Node', true)];
  it('when the class of the Sandbox has a bucket, or the default one if it names none', () => {
    expect(view([pod], cordoned, classes).find(named, pod)?.needsUpload).toBe(true);
    expect(view([pod], cordoned, classes).find(sleeper(), pod)?.needsUpload).toBe(false);
    expect(view([pod], cordoned, [classOf('far', 'Bucket', true)]).find(sleeper(), pod)?.needsUpload).toBe(true);
    expect(view([pod], cordoned).find(named, pod)?.needsUpload).toBe(false);
  });
});
