import { hasOwnNetwork } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { claimNameOf, slotOf } from '@sandlot/blueprint';
import { controllerOf, keyOf, watchSource } from '@sandlot/kube';
import type { Change, KubeObject, NetworkPolicy, Source } from '@sandlot/kube';
import { BY_POOL, BY_TEMPLATE, refKey } from './cache.ts';
import type { Cache } from './cache.ts';
import { changesSpec } from '../stock/keep-stock.ts';
import { isWaiting } from '../telemetry/waiting-claims.ts';

/** New claims go before events that follow from work on older ones. */
export const PRIORITY = { claim: 10, sandbox: 5, reference: 0 } as const;

/** Which change of which object enqueues which claims. */
export function claimSources(cache: Cache): Source[] {
  const claimsOfPool = (pool: SandboxWarmPool, change: Change<SandboxWarmPool>): string[] =>
    changesSpec(change)
      ? [
          ...keysOf(cache.claims.store.byIndex(BY_POOL, keyOf(pool))),
          ...keysOf(cache.claims.store.byIndex(BY_TEMPLATE, refKey(pool, pool.spec.sandboxTemplateRef.name))),
        ]
      : [];
  const claimsOfTemplate = (template: SandboxTemplate, change: Change<SandboxTemplate>): string[] => {
    if (!changesSpec(change)) return [];
    const pools = [...cache.pools.store.byIndex(BY_TEMPLATE, keyOf(template))];
    const viaPools = pools.flatMap((pool) => keysOf(cache.claims.store.byIndex(BY_POOL, keyOf(pool))));
    return [...keysOf(cache.claims.store.byIndex(BY_TEMPLATE, keyOf(template))), ...viaPools];
  };
  return [
    // A new leader serves waiting claims before it checks the thousands of served ones.
    watchSource(cache.claims, (claim: SandboxClaim) => [keyOf(claim)], {
      priority: PRIORITY.claim,
      isAwaited: isWaiting,
    }),
    watchSource(cache.sandboxes, (sandbox) => claimsOfSandbox(cache, sandbox), { priority: PRIORITY.sandbox }),
    watchSource(cache.pools, claimsOfPool, { priority: PRIORITY.reference }),
    watchSource(cache.templates, claimsOfTemplate, { priority: PRIORITY.reference }),
    watchSource(cache.policies, (policy) => claimsOfPolicy(cache, policy), { priority: PRIORITY.sandbox }),
  ];
}

/** A claim's own policy enqueues the claim; a template's policy enqueues the claims whose rules derive from it. */
function claimsOfPolicy(cache: Cache, policy: NetworkPolicy): string[] {
  const owners = policy.metadata.ownerReferences ?? [];
  return owners.flatMap(({ kind, name }) => {
    if (kind === 'SandboxClaim') return [refKey(policy, name)];
    return kind === 'SandboxTemplate' ? claimsWithOwnNetwork(cache, refKey(policy, name)) : [];
  });
}

function claimsWithOwnNetwork({ claims, pools }: Cache, templateKey: string): string[] {
  const viaPools = [...pools.store.byIndex(BY_TEMPLATE, templateKey)].flatMap((pool) => [
    ...claims.store.byIndex(BY_POOL, keyOf(pool)),
  ]);
  return keysOf([...claims.store.byIndex(BY_TEMPLATE, templateKey), ...viaPools].filter(hasOwnNetwork));
}

/** The claim that has the Sandbox, and the claim of the same name, since the Sandbox may block its cold start. */
function claimsOfSandbox({ claims }: Cache, sandbox: Sandbox): string[] {
  const owner = controllerOf(sandbox);
  const keys = new Set<string>(owner?.kind === 'SandboxClaim' ? [refKey(sandbox, owner.name)] : []);
  const claimed = slotOf(sandbox) === undefined ? undefined : claimNameOf(sandbox);
  if (claimed !== undefined) keys.add(refKey(sandbox, claimed));
  const namesake = keyOf(sandbox);
  if (claims.store.get(namesake) !== undefined) keys.add(namesake);
  return [...keys];
}

function keysOf(objects: Iterable<KubeObject>): string[] {
  return [...objects].map(keyOf);
}
