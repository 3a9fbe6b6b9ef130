import { annotations, buildHibernationName, labels } from '@sandlot/api-types';
import type { Condition, Sandbox, SandboxSnapshot, SandboxSnapshotStatus } from '@sandlot/api-types';
import type { Node } from '@sandlot/kube';

export const NAMESPACE = 'team-a';
export const OLD = 'gvisor-old';
export const NEW = 'gvisor-new';
const AT = '2026-01-01T12:00:00Z';

/** A Sandbox that its owner has suspended, and that sleeps with its memory. */
export function buildSleeper(name: string, notes: Readonly<Record<string, string>> = {}): Sandbox {
  const condition: Condition = {
    type: 'Suspended',
    status: 'True',
    reason: 'PodTerminated',
    message: '',
    observedGeneration: 1,
    lastTransitionTime: AT,
  };
  return {
    apiVersion: 'agents.x-k8s.io/v1beta1',
    kind: 'Sandbox',
    metadata: { namespace: NAMESPACE, name, uid: `uid-${name}`, generation: 1, annotations: { ...notes } },
    spec: {
      operatingMode: 'Suspended',
      suspensionStrategy: { type: 'Hibernate' },
      podTemplate: { spec: { containers: [{ name: 'main', image: 'busybox' }] } },
    },
    status: {
      phase: 'Suspended',
      keeps: 'Memory',
      observedGeneration: 1,
      conditions: [condition],
    },
  };
}

/** The hibernation of a Sandbox, with memory of the old gVisor on `node-a`. */
export function buildHibernation(name: string, status: Partial<SandboxSnapshotStatus> = {}): SandboxSnapshot {
  const owner = { apiVersion: 'agents.x-k8s.io/v1beta1', kind: 'Sandbox', name, uid: `uid-${name}`, controller: true };
  return {
    apiVersion: 'sandlot.dev/v1alpha1',
    kind: 'SandboxSnapshot',
    metadata: {
      namespace: NAMESPACE,
      name: buildHibernationName(name, 'the-pod'),
      uid: `memory-of-${name}`,
      ownerReferences: [owner],
    },
    spec: { sandboxName: name, whenSaved: 'StayPaused', contents: 'Memory' },
    status: { phase: 'Ready', nodeName: 'node-a', fingerprint: OLD, hasFiles: true, ...status },
  };
}

/** A Node with a gVisor of this fingerprint; without one its node component is not Ready. */
export function buildNode(name: string, fingerprint?: string, isCordoned = false): Node {
  const found = fingerprint === undefined ? {} : { [labels.snapshotFingerprint]: fingerprint };
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, labels: found }, spec: { unschedulable: isCordoned } };
}

/** A Sandbox that a run has woken, and has not suspended again. */
export function buildBegun(name: string, suspender: string): Sandbox {
  const { spec, status, ...sandbox } = buildSleeper(name, { [annotations.refresh]: suspender });
  const conditions = (status?.conditions ?? []).map((one) => ({ ...one, type: 'Ready' }));
  return { ...sandbox, spec: { ...spec, operatingMode: 'Running' }, status: { observedGeneration: 1, conditions } };
}
