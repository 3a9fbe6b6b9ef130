import { describe, expect, it } from 'vitest';
import { isDraining, toleratesDrain } from './draining.ts';

const tainted = (key: string) => ({ spec: { taints: [{ key, effect: 'NoSchedule' }] } });

describe('a Node is being emptied', () => {
  it.each([
    ['when it is cordoned', { spec: { unschedulable: true } }, true],
    ['when the cluster autoscaler removes it', tainted('ToBeDeletedByClusterAutoscaler'), true],
    ['when Karpenter removes it', tainted('karpenter.sh/disrupted'), true],
    ['but not by any other taint', tainted('example.com/gpu'), false],
    ['but not when it is uncordoned', { spec: { unschedulable: false } }, false],
    ['but not without a spec', {}, false],
  ])('%s', (_, node, expected) => {
    expect(isDraining(node)).toBe(expected);
  });
});

describe('a Pod may go to a Node that is being emptied', () => {
  it.each([
    ['if it tolerates that taint', { tolerations: [{ key: 'node.kubernetes.io/unschedulable' }] }, true],
    ['if it tolerates the taint of an autoscaler', { tolerations: [{ key: 'karpenter.sh/disrupted' }] }, true],
    ['if it tolerates every taint', { tolerations: [{ operator: 'Exists' }] }, true],
    ['if it names its node', { nodeName: 'node-1' }, true],
    ['but not by other tolerations', { tolerations: [{ key: 'example.com/gpu', operator: 'Exists' }] }, false],
    ['but not without tolerations', {}, false],
  ])('%s', (_, spec, expected) => {
    expect(toleratesDrain({ containers: [], ...spec })).toBe(expected);
  });
});
