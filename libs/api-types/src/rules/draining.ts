// Whether a Node is being emptied, and whether a Pod stays there nevertheless.
import type { Node, PodSpec } from '@sandlot/kube/objects';

/** Taints of autoscalers that are about to remove the Node. */
const SCALE_DOWN_TAINTS: readonly string[] = ['ToBeDeletedByClusterAutoscaler', 'karpenter.sh/disrupted'];
const CORDON_TAINT = 'node.kubernetes.io/unschedulable';

/** Whether the Node is cordoned, or about to be removed by an autoscaler: docs/reference/sandbox.md#drain. */
export function isDraining({ spec }: Pick<Node, 'spec'>): boolean {
  return spec?.unschedulable === true || (spec?.taints ?? []).some(({ key }) => SCALE_DOWN_TAINTS.includes(key));
}

interface Toleration {
  readonly key?: string;
  readonly operator?: string;
}

/**
 * Whether Pods of this spec may go to a Node that is being emptied. One that moved away could land there again, and move
 * again, without end.
 */
export function toleratesDrain(spec: PodSpec): boolean {
  if (spec.nodeName !== undefined) return true;
  const tolerations = (spec['tolerations'] ?? []) as readonly Toleration[];
  return tolerations.some(({ key = '' }) => key === '' || key === CORDON_TAINT || SCALE_DOWN_TAINTS.includes(key));
}
