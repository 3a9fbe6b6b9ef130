import {
  annotations,
  findCondition,
  hasCpu,
  parseCpu,
  readCpu,
  resolveMode,
  sandboxMessages as messages,
  sandboxReasons as reasons,
} from '@sandlot/api-types';
import type { Cpu, Sandbox } from '@sandlot/api-types';
import type { Condition, Pod } from '@sandlot/kube/objects';
import { isTerminating } from '../plan/snapshot.ts';
import type { Plan } from '../plan/steps.ts';

/**
 * Changes the CPU of the live Pod, once: docs/reference/sandbox.md#in-place-cpu. The annotation of the Pod says that the API
 * server has accepted it. A later change by another writer stays, as the two would undo each other's writes for ever.
 */
export function decideCpu(sandbox: Sandbox, pod: Pod): Plan {
  const cpu = findRequestedCpu(sandbox);
  if (cpu === undefined || !needsResize(sandbox, pod)) return [];
  return [{ kind: 'resizePod', phase: 'resize', pod, cpu }];
}

/** Whether the API server has yet to accept the CPU that a claim requested for this Pod. */
export function needsResize(sandbox: Sandbox, pod: Pod): boolean {
  const cpu = findRequestedCpu(sandbox);
  const hasEnded = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
  if (cpu === undefined || hasEnded || isTerminating(pod) || resolveMode(sandbox.spec) !== 'Running') return false;
  return pod.metadata.annotations?.[annotations.inplaceCpu] !== cpu;
}

/** The text of the annotation that a claim's adoption puts on a Sandbox; undefined without one. */
export function findRequestedCpu({ metadata }: Sandbox): string | undefined {
  return metadata.annotations?.[annotations.inplaceCpu];
}

/** What a Ready Pod still lacks of the CPU that a claim requested; undefined when it has it. */
export interface ResizeWait {
  readonly reason: string;
  readonly message: string;
}

/**
 * Why the Pod does not have the CPU yet; undefined once its node has set it. Conditions come late, and say nothing before the
 * kubelet has seen the request, so what counts is the CPU that its status shows.
 */
export function findResizeWait(sandbox: Sandbox, pod: Pod): ResizeWait | undefined {
  const requested = findRequestedCpu(sandbox);
  if (requested === undefined) return undefined;
  const asked = parseCpu(requested);
  if (pod.metadata.annotations?.[annotations.inplaceCpu] === requested) {
    // Another writer has changed the Pod since, and what the claim requested cannot come any more.
    if (!hasCpu(getSpecCpu(sandbox, pod), asked)) return undefined;
    if (hasCpu(getStatusCpu(sandbox, pod), asked)) return undefined;
  }
  return describeWait(pod);
}

function describeWait({ status }: Pod): ResizeWait {
  const findTrue = (type: string): Condition | undefined => {
    const found = findCondition(status?.conditions, type);
    return found?.status === 'True' ? found : undefined;
  };
  const pending = findTrue('PodResizePending');
  if (pending?.reason === 'Infeasible') {
    const detail = pending.message ?? 'the kubelet says no more';
    return { reason: reasons.resizeInfeasible, message: messages.resizeInfeasible(detail) };
  }
  // The words of kubelets name what other Pods use, and would cost a status write at each change.
  if (pending !== undefined) return { reason: reasons.resizePending, message: messages.resizeDeferred };
  const isFailing = findTrue('PodResizeInProgress')?.reason === 'Error';
  return { reason: reasons.resizePending, message: isFailing ? messages.resizeFailing : messages.resizeUnconfirmed };
}

/** The name of the container whose CPU may change. Admission may have put others before it. */
export function getFirstContainerName({ spec }: Sandbox): string {
  return spec.podTemplate.spec.containers[0]?.name ?? '';
}

function getSpecCpu(sandbox: Sandbox, { spec }: Pod): Cpu {
  const name = getFirstContainerName(sandbox);
  return readCpu(spec.containers.find((each) => each.name === name && each.resources !== undefined)?.resources);
}

function getStatusCpu(sandbox: Sandbox, { status }: Pod): Cpu {
  const name = getFirstContainerName(sandbox);
  return readCpu(status?.containerStatuses?.find((each) => each.name === name)?.resources);
}
