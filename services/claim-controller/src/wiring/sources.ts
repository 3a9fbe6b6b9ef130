import { findCondition, findTemplateOfPolicy, hasOwnNetwork, templateConditions } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { findClaimName, findSlot } from '@sandlot/blueprint';
import { findController, getKey, watchSource } from '@sandlot/kube';
import type { Change, KubeObject, NetworkPolicy, Source } from '@sandlot/kube';
import { BY_POOL, BY_SANDBOX_NAME, BY_TEMPLATE, formatRefKey } from './cache.ts';
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
          ...listKeys(cache.claims.store.listByIndex(BY_POOL, getKey(pool))),
          ...listKeys(
            cache.claims.store.listByIndex(BY_TEMPLATE, formatRefKey(pool, pool.spec.sandboxTemplateRef.name)),
          ),
        ]
      : [];
  const claimsOfTemplate = (template: SandboxTemplate, change: Change<SandboxTemplate>): string[] => {
    if (!changesSpec(change) && !changesNetwork(change)) return [];
    const claims = listClaimsOfTemplate(cache, getKey(template));
    return listKeys(changesSpec(change) ? claims : claims.filter(isWaiting));
  };
  return [
    // A new leader serves waiting claims before it checks the thousands of served ones.
    watchSource(cache.claims, (claim: SandboxClaim, change) => listKeysOfClaim(cache, claim, change), {
      priority: PRIORITY.claim,
      isAwaited: isWaiting,
    }),
    watchSource(cache.sandboxes, (sandbox) => listClaimsOfSandbox(cache, sandbox), { priority: PRIORITY.sandbox }),
    watchSource(cache.pools, claimsOfPool, { priority: PRIORITY.reference }),
    watchSource(cache.templates, claimsOfTemplate, { priority: PRIORITY.reference }),
    watchSource(cache.policies, (policy) => listClaimsOfPolicy(cache, policy), { priority: PRIORITY.sandbox }),
  ];
}

/** Whether what the template says of its network rules has changed: claims may wait for them. */
function changesNetwork({ old, next }: Change<SandboxTemplate>): boolean {
  const find = (template: SandboxTemplate | undefined): string => {
    const ready = findCondition(template?.status?.conditions, templateConditions.networkPolicyReady);
    return `${ready?.observedGeneration ?? 0} ${ready?.status ?? ''} ${ready?.message ?? ''}`;
  };
  return find(old) !== find(next);
}

/** A claim's own policy enqueues the claim; a template's policy enqueues the claims that wait, or derive rules from it. */
function listClaimsOfPolicy(cache: Cache, policy: NetworkPolicy): string[] {
  const owners = (policy.metadata.ownerReferences ?? []).filter(({ kind }) => kind === 'SandboxClaim');
  const template = findTemplateOfPolicy(policy);
  const claims = template === undefined ? [] : listClaimsOfTemplate(cache, formatRefKey(policy, template));
  return [
    ...owners.map(({ name }) => formatRefKey(policy, name)),
    ...listKeys(claims.filter((claim) => hasOwnNetwork(claim) || isWaiting(claim))),
  ];
}

/** Claims that name the template, or a pool of it. */
function listClaimsOfTemplate({ claims, pools }: Cache, templateKey: string): SandboxClaim[] {
  const viaPools = [...pools.store.listByIndex(BY_TEMPLATE, templateKey)].flatMap((pool) => [
    ...claims.store.listByIndex(BY_POOL, getKey(pool)),
  ]);
  return [...claims.store.listByIndex(BY_TEMPLATE, templateKey), ...viaPools];
}

/** The claim, and when it is gone those that want their Sandbox to have its name. */
function listKeysOfClaim({ claims }: Cache, claim: SandboxClaim, { next }: Change<SandboxClaim>): string[] {
  const key = getKey(claim);
  return next === undefined ? [key, ...listKeys(claims.store.listByIndex(BY_SANDBOX_NAME, key))] : [key];
}

/** The claim that has the Sandbox, and claims that want its name, since the Sandbox may block their cold start. */
function listClaimsOfSandbox({ claims }: Cache, sandbox: Sandbox): string[] {
  const owner = findController(sandbox);
  const keys = new Set<string>(owner?.kind === 'SandboxClaim' ? [formatRefKey(sandbox, owner.name)] : []);
  const claimed = findSlot(sandbox) === undefined ? undefined : findClaimName(sandbox);
  if (claimed !== undefined) keys.add(formatRefKey(sandbox, claimed));
  const namesake = getKey(sandbox);
  if (claims.store.get(namesake) !== undefined) keys.add(namesake);
  for (const key of listKeys(claims.store.listByIndex(BY_SANDBOX_NAME, namesake))) keys.add(key);
  return [...keys];
}

function listKeys(objects: Iterable<KubeObject>): string[] {
  return [...objects].map(getKey);
}
