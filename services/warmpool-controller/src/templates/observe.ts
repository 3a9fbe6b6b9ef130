import { formatNetworkPolicyName } from '@sandlot/api-types';
import type { SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { getBlueprintHash } from '@sandlot/blueprint';
import type { PodDefaults } from '@sandlot/blueprint';
import type { NetworkPolicy, Store } from '@sandlot/kube';
import type { StatusPace } from '../status/status-pace.ts';
import { BY_TEMPLATE } from '../wiring/cache.ts';
import type { Refusals } from './network/refusals.ts';
import type { NetworkSettings } from './network/settings.ts';
import type { PoolCount, TemplateSnapshot } from './plan/snapshot.ts';

export interface ObserveDeps {
  readonly pools: Store<SandboxWarmPool>;
  readonly policies: Store<NetworkPolicy>;
  readonly refusals: Refusals;
  readonly statusPace: StatusPace;
  readonly podDefaults: PodDefaults;
  readonly network: NetworkSettings;
  readonly nowMs: () => number;
}

/** The state of a template at one moment, from caches alone: no request. */
export function observe(deps: ObserveDeps, key: string, template: SandboxTemplate): TemplateSnapshot {
  const { namespace = '', name = '' } = template.metadata;
  return {
    template,
    blueprintHash: getBlueprintHash(template, deps.podDefaults),
    policy: deps.policies.get(`${namespace}/${formatNetworkPolicyName(name)}`),
    refusal: deps.refusals.of(key, template),
    pools: [...deps.pools.listByIndex(BY_TEMPLATE, key)].map(countOf),
    network: deps.network,
    statusNotBeforeMs: deps.statusPace.nextMs(key),
    nowMs: deps.nowMs(),
  };
}

/** Without zeros, as a Go client writes it: otherwise the status would differ for ever. */
function countOf({ metadata, status = {} }: SandboxWarmPool): PoolCount {
  const { replicas = 0, readyReplicas = 0 } = status;
  return {
    name: metadata.name ?? '',
    ...(replicas === 0 ? {} : { replicas }),
    ...(readyReplicas === 0 ? {} : { readyReplicas }),
  };
}
