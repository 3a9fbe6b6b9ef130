import { networkPolicyName } from '@sandlot/api-types';
import type { SandboxTemplate, SandboxTemplateStatus, SandboxWarmPool } from '@sandlot/api-types';
import { blueprintHashOf } from '@sandlot/blueprint';
import type { PodDefaults } from '@sandlot/blueprint';
import type { NetworkPolicy, Store } from '@sandlot/kube';
import { BY_TEMPLATE } from '../wiring/cache.ts';
import type { Refusals } from './network/refusals.ts';
import type { NetworkSettings } from './network/settings.ts';
import type { TemplateSnapshot } from './snapshot.ts';

export interface ObserveDeps {
  readonly templates: Store<SandboxTemplate>;
  readonly pools: Store<SandboxWarmPool>;
  readonly policies: Store<NetworkPolicy>;
  readonly refusals: Refusals;
  readonly podDefaults: PodDefaults;
  readonly network: NetworkSettings;
  readonly nowMs: () => number;
}

/** One moment's view of a template, from memory alone. */
export function observe(deps: ObserveDeps, key: string, template: SandboxTemplate): TemplateSnapshot {
  const { namespace = '', name = '' } = template.metadata;
  return {
    template,
    blueprintHash: blueprintHashOf(template, deps.podDefaults),
    policy: deps.policies.get(`${namespace}/${networkPolicyName(name)}`),
    refusal: deps.refusals.of(key, template),
    pools: [...deps.pools.byIndex(BY_TEMPLATE, key)].map(countOf),
    network: deps.network,
    nowMs: deps.nowMs(),
  };
}

/** Zeros are left out, as Go would: a status without them is no other status. */
function countOf({ metadata, status = {} }: SandboxWarmPool): NonNullable<SandboxTemplateStatus['warmPools']>[number] {
  const { replicas = 0, readyReplicas = 0 } = status;
  return {
    name: metadata.name ?? '',
    ...(replicas === 0 ? {} : { replicas }),
    ...(readyReplicas === 0 ? {} : { readyReplicas }),
  };
}
