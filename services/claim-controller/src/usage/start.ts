import { labels } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { USAGE_BUCKET } from '@sandlot/bus';
import { findClaimName } from '@sandlot/blueprint';
import { findController } from '@sandlot/kube';
import type { ControllerParts } from '@sandlot/service';
import type { Cache } from '../wiring/cache.ts';
import { formatRefKey } from '../wiring/cache.ts';
import type { Present } from './check.ts';
import { keepUsage } from './keeper.ts';
import { createUsageMetrics } from './metrics.ts';

/** Keeps the ledger of usage until it is disposed. Like the outboxes, it is the work of the leader, or of the holder of the first shard. */
export function startUsage(
  parts: ControllerParts,
  cache: Pick<Cache, 'claims' | 'sandboxes'>,
  { keepsUsage = false }: { readonly keepsUsage?: boolean | undefined },
): AsyncDisposable {
  const { bus, clock, random, log, manager, registry } = parts;
  const bucket = keepsUsage ? bus.openBucket(USAGE_BUCKET) : undefined;
  if (bucket === undefined) return { [Symbol.asyncDispose]: () => Promise.resolve() };
  const stop = new AbortController();
  const ended = keepUsage(
    {
      bus,
      bucket,
      clock,
      random,
      log,
      metrics: createUsageMetrics(registry),
      isActive: () => manager.isLeader() && manager.isReady(),
      listPresent: () => listPresent(cache),
      listUnlisted: () => [...cache.claims.listForbidden(), ...cache.sandboxes.listForbidden()],
    },
    stop.signal,
  );
  return {
    [Symbol.asyncDispose]: () => {
      stop.abort();
      return ended;
    },
  };
}

function* listPresent({ claims, sandboxes }: Pick<Cache, 'claims' | 'sandboxes'>): Generator<Present> {
  for (const sandbox of sandboxes.store.values()) {
    const name = findOwnerName(sandbox);
    const claim = name === undefined ? undefined : claims.store.get(formatRefKey(sandbox, name));
    yield { sandbox, claim: claim !== undefined && isBound(claim, sandbox) ? claim : undefined };
  }
}

function findOwnerName(sandbox: Sandbox): string | undefined {
  const owner = findController(sandbox);
  return owner?.kind === 'SandboxClaim' ? owner.name : findClaimName(sandbox);
}

/** Whether the claim's status names the Sandbox, and it is not one of an earlier claim of that name. */
function isBound(claim: SandboxClaim, sandbox: Sandbox): boolean {
  const { name = '' } = sandbox.metadata;
  const { sandbox: own, sandboxes = [] } = claim.status ?? {};
  const uid = findController(sandbox)?.uid ?? sandbox.metadata.labels?.[labels.claimUid];
  return uid === claim.metadata.uid && (own?.name === name || sandboxes.some((entry) => entry.name === name));
}
