import { resolveClaimMode } from '@sandlot/api-types';
import type { Condition, SandboxClaim, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { buildOutcome } from '../e2b/answer/outcome.ts';
import { buildSize } from '../e2b/answer/size.ts';
import type { ClaimedSandbox } from '../state/cluster-state.ts';
import { omitUndefined } from './omit-undefined.ts';
import { listAliases } from '../wiring/informers.ts';
import type { ClaimView, Pool, TemplateView } from './schemas.ts';

function buildIdentity({ metadata }: { readonly metadata: SandboxClaim['metadata'] }) {
  const { namespace = '', name = '', creationTimestamp = '' } = metadata;
  return { namespace, name, createdAt: creationTimestamp };
}

function listConditions(status: { readonly conditions?: readonly Condition[] | undefined } | undefined) {
  return (status?.conditions ?? []).map(({ type, status: is, reason, message, lastTransitionTime }) => ({
    type,
    status: is,
    reason,
    message,
    lastTransitionTime,
  }));
}

export function buildPoolView(pool: SandboxWarmPool): Pool {
  const { spec, status } = pool;
  const replicas = spec.replicas ?? 1;
  return {
    ...buildIdentity(pool),
    template: spec.sandboxTemplateRef.name,
    aliases: [...listAliases(pool)],
    replicas,
    desired: status?.desiredReplicas ?? replicas,
    ready: status?.readyReplicas ?? 0,
    pending: status?.pendingReplicas ?? 0,
    inUse: status?.inUse ?? 0,
    conditions: listConditions(status),
  };
}

export function buildTemplateView(template: SandboxTemplate): TemplateView {
  const { spec, status } = template;
  return {
    ...buildIdentity(template),
    aliases: [...listAliases(template)],
    images: spec.podTemplate.spec.containers.map(({ image = '' }) => image),
    runtime: spec.runtime?.inject === true,
    ...buildSize(spec),
    pools: (status?.warmPools ?? []).map(({ name }) => name),
    conditions: listConditions(status),
  };
}

export function claimView({ claim, sandbox }: ClaimedSandbox): ClaimView {
  const { spec, status, metadata } = claim;
  const { claimedReplicas = 0, readyReplicas = 0, phase = 'Pending', message } = status ?? {};
  return {
    ...buildIdentity(claim),
    ...omitUndefined({
      pool: spec.warmPoolRef?.name,
      template: spec.sandboxTemplateRef?.name,
      message,
      shutdownTime: spec.lifecycle?.shutdownTime,
    }),
    uid: metadata.uid ?? '',
    replicas: spec.replicas ?? 1,
    claimed: claimedReplicas,
    ready: readyReplicas,
    phase,
    sandboxes: getDelivered({ claim, sandbox }),
    conditions: listConditions(status),
  };
}

function getDelivered({ claim, sandbox }: ClaimedSandbox): ClaimView['sandboxes'] {
  const { spec, status } = claim;
  if (resolveClaimMode(spec) === 'Bound') return boundTo({ claim, sandbox });
  return (status?.sandboxes ?? []).map(({ name, ready = false, origin, podIPs = [] }) => ({
    name,
    ready,
    origin: origin ?? 'Unknown',
    podIPs,
  }));
}

function boundTo({ claim: { status }, sandbox }: ClaimedSandbox): ClaimView['sandboxes'] {
  const { name = '', podIPs = [] } = status?.sandbox ?? {};
  const ready = (status?.readyReplicas ?? 0) > 0;
  return name === '' ? [] : [{ name, ready, origin: 'Unknown', podIPs, ...buildOutcome(sandbox) }];
}
