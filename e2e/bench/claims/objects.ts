import { getPodName } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxClaimStatus, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { buildColdSandbox, buildMemberSandbox, POD_DEFAULTS } from '@sandlot/blueprint';
import type { Pod } from '@sandlot/kube';
import { NAMESPACE } from './stage.ts';

const TEMPLATE = 'box';
export const POOL = 'boxes';

export function buildTemplateObject(namespace = NAMESPACE): SandboxTemplate {
  const container = { name: 'box', image: 'busybox', command: ['sleep', 'infinity'] };
  return {
    metadata: { namespace, name: TEMPLATE },
    spec: { podTemplate: { spec: { terminationGracePeriodSeconds: 0, containers: [container] } } },
  };
}

export function buildPoolObject(replicas: number, namespace = NAMESPACE): SandboxWarmPool {
  return { metadata: { namespace, name: POOL }, spec: { replicas, sandboxTemplateRef: { name: TEMPLATE } } };
}

export function claimObject(
  name: string,
  spec: Partial<SandboxClaim['spec']> = {},
  namespace = NAMESPACE,
): SandboxClaim {
  return { metadata: { namespace, name }, spec: { warmPoolRef: { name: POOL }, ...spec } };
}

/** A member as the warmpool-controller creates it. */
export function buildMemberObject(pool: SandboxWarmPool, template: SandboxTemplate, index: number): Sandbox {
  return buildMemberSandbox({ pool, template, defaults: POD_DEFAULTS, suffix: `floor${index}` });
}

/** The Sandbox of a cold claim, as the claim-controller creates it. */
export function buildColdObject(claim: SandboxClaim, template: SandboxTemplate): Sandbox {
  return buildColdSandbox({ claim, template, defaults: POD_DEFAULTS });
}

/** A Pod of about the same size as that of a Sandbox, which goes with it. */
export function buildPodObject(sandbox: Sandbox): Pod {
  const { metadata, spec } = sandbox.spec.podTemplate;
  const { name = '', uid = '' } = sandbox.metadata;
  const owner = { apiVersion: 'agents.x-k8s.io/v1beta1', kind: 'Sandbox', name, uid, controller: true };
  const key = { namespace: NAMESPACE, name: getPodName(sandbox) };
  return { metadata: { ...key, labels: metadata?.labels, ownerReferences: [owner] }, spec };
}

/** The status of a bound claim, as the claim-controller writes it. */
export function boundStatus(sandboxName: string): SandboxClaimStatus {
  return {
    conditions: [findReadyCondition()],
    sandbox: { name: sandboxName, podIPs: ['10.0.0.1'] },
    observedGeneration: 1,
    mode: 'Bound',
    phase: 'Completed',
    completionTime: new Date().toISOString(),
    claimedReplicas: 1,
    readyReplicas: 1,
  };
}

/** A status of about the same size as that of a Ready Sandbox. */
export function buildReadySandboxStatus(): NonNullable<Sandbox['status']> {
  const others = ['PodScheduled', 'Suspended'].map((type) => ({ ...findReadyCondition(), type }));
  return {
    conditions: [findReadyCondition(), ...others],
    podIPs: ['10.0.0.1'],
    nodeName: 'simulated-1',
    phase: 'Running',
  };
}

function findReadyCondition() {
  return {
    type: 'Ready',
    status: 'True' as const,
    reason: 'DependenciesReady',
    message: 'Pod is Ready',
    observedGeneration: 1,
    lastTransitionTime: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
  };
}
