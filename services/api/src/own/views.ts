import { effectiveClaimMode } from '@sandlot/api-types';
import type { Condition, SandboxClaim, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { sizeOf } from '../e2b/view.ts';
import { aliasesOf } from '../world/cache.ts';
import type { ClaimView, Pool, TemplateView } from './schemas.ts';

function identityOf({ metadata }: { readonly metadata: SandboxClaim['metadata'] }) {
  const { namespace = '', name = '', creationTimestamp = '' } = metadata;
  return { namespace, name, createdAt: creationTimestamp };
}

function conditionsOf(status: { readonly conditions?: readonly Condition[] | undefined } | undefined) {
  return (status?.conditions ?? []).map(({ type, status: is, reason, message, lastTransitionTime }) => ({
    type,
    status: is,
    reason,
    message,
    lastTransitionTime,
  }));
}

export function poolView(pool: SandboxWarmPool): Pool {
  const { spec, status } = pool;
  const replicas = spec.replicas ?? 1;
  return {
    ...identityOf(pool),
    template: spec.sandboxTemplateRef.name,
    aliases: [...aliasesOf(pool)],
    replicas,
    desired: status?.desiredReplicas ?? replicas,
    ready: status?.readyReplicas ?? 0,
    pending: status?.pendingReplicas ?? 0,
    inUse: status?.inUse ?? 0,
    conditions: conditionsOf(status),
  };
}

export function templateView(template: SandboxTemplate): TemplateView {
  const { spec, status } = template;
  return {
    ...identityOf(template),
    aliases: [...aliasesOf(template)],
    images: spec.podTemplate.spec.containers.map(({ image = '' }) => image),
    runtime: spec.runtime?.inject === true,
    ...sizeOf(spec),
    pools: (status?.warmPools ?? []).map(({ name }) => name),
    conditions: conditionsOf(status),
  };
}

export function claimView(claim: SandboxClaim): ClaimView {
  const { spec, status, metadata } = claim;
  const shutdownTime = spec.lifecycle?.shutdownTime;
  return {
    ...identityOf(claim),
    uid: metadata.uid ?? '',
    ...(spec.warmPoolRef === undefined ? {} : { pool: spec.warmPoolRef.name }),
    ...(spec.sandboxTemplateRef === undefined ? {} : { template: spec.sandboxTemplateRef.name }),
    replicas: spec.replicas ?? 1,
    claimed: status?.claimedReplicas ?? 0,
    ready: status?.readyReplicas ?? 0,
    phase: status?.phase ?? 'Pending',
    ...(status?.message === undefined ? {} : { message: status.message }),
    ...(shutdownTime === undefined ? {} : { shutdownTime }),
    sandboxes: deliveredOf(claim),
    conditions: conditionsOf(status),
  };
}

function deliveredOf({ spec, status }: SandboxClaim): ClaimView['sandboxes'] {
  if (effectiveClaimMode(spec) === 'Detached') {
    return (status?.sandboxes ?? []).map(({ name, ready = false, origin, podIPs = [] }) => ({
      name,
      ready,
      origin: origin ?? 'Unknown',
      podIPs,
    }));
  }
  const { name = '', podIPs = [] } = status?.sandbox ?? {};
  return name === '' ? [] : [{ name, ready: (status?.readyReplicas ?? 0) > 0, origin: 'Unknown', podIPs }];
}
