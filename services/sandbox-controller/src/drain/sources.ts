import { isDraining } from '@sandlot/api-types';
import { watchSource } from '@sandlot/kube';
import type { Informer, Node, Pod, PodDisruptionBudget, Source } from '@sandlot/kube';
import { BY_MEMORY_NODE } from '../wiring/informers.ts';
import type { Informers } from '../wiring/informers.ts';
import { listSandboxKeys } from '../wiring/sources.ts';
import { isMover, isProtected } from './protection.ts';

/** Which change of which object enqueues which Sandboxes of a node that is being emptied. */
export function watchDrainSources({ pods, sandboxes, drain }: Informers): Source[] {
  if (drain === undefined) return [];
  const { nodes } = drain;
  const keysOn = (nodeName: string): string[] =>
    [...pods.store.listByIndex(BY_MEMORY_NODE, nodeName)].flatMap((pod) => listSandboxKeys(pod, sandboxes.store));
  return [
    watchSource(nodes, ({ metadata: { name = '' } }, { old, next }) =>
      isEmptied(old) === isEmptied(next) ? [] : keysOn(name),
    ),
    watchSource(pods, ({ spec: { nodeName = '' } }, { old, next }) =>
      hasLeft(old, next) && isEmptied(nodes.store.get(nodeName)) ? keysOn(nodeName) : [],
    ),
  ];
}

/** Which change enqueues which namespace, whose budget may have to come or go. */
export function watchBudgetSources(pods: Informer<Pod>, budgets: Informer<PodDisruptionBudget>): Source[] {
  return [
    watchSource(pods, ({ metadata: { namespace = '' } }, { old, next }) =>
      isHeld(old) === isHeld(next) && !isOrphan(next) ? [] : [namespace],
    ),
    watchSource(budgets, ({ metadata: { namespace = '' } }) => [namespace]),
  ];
}

const isEmptied = (node: Node | undefined): boolean => node !== undefined && isDraining(node);
const isHeld = (pod: Pod | undefined): boolean => pod !== undefined && isProtected(pod);

/** Another Pod of the node has its turn. */
function hasLeft(old: Pod | undefined, next: Pod | undefined): boolean {
  return old !== undefined && isMover(old) && (next === undefined || !isMover(next));
}

/** Its Sandbox was deleted without it, so only this controller can let it be evicted. */
function isOrphan(pod: Pod | undefined): boolean {
  return pod !== undefined && isHeld(pod) && !hasSandbox(pod);
}

/** Whether a Sandbox controls the Pod, and so sees to its label. */
export function hasSandbox({ metadata }: Pod): boolean {
  return metadata.ownerReferences?.some(({ kind, controller }) => kind === 'Sandbox' && controller === true) === true;
}
