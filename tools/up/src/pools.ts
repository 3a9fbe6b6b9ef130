import { setTimeout as sleep } from 'node:timers/promises';
import { sandboxWarmPools } from '@sandlot/api-types';
import type { SandboxWarmPool } from '@sandlot/api-types';
import type { KubeClient } from '@sandlot/kube';
import { UpError } from './errors.ts';

const POOL_LIMIT_MS = 180_000;
const POLL_MS = 100;

/** Waits until the pool is full; the number of its members. Throws an UpError that says what holds it up. */
export async function awaitPool(
  client: KubeClient,
  key: { readonly namespace: string; readonly name: string },
  report: (text: string) => void,
): Promise<number> {
  const deadlineMs = performance.now() + POOL_LIMIT_MS;
  for (;;) {
    const pool = await client.get(sandboxWarmPools, key);
    const { ready, desired, isCurrent } = stateOf(pool);
    if (isCurrent && ready >= desired) return ready;
    report(`${ready} of ${desired} ready`);
    if (performance.now() > deadlineMs) throw stillEmpty(pool);
    await sleep(POLL_MS);
  }
}

interface PoolState {
  readonly ready: number;
  readonly desired: number;
  /** Counted since the pool was last changed. */
  readonly isCurrent: boolean;
}

function stateOf({ metadata, spec, status }: SandboxWarmPool): PoolState {
  const isCurrent = status?.observedGeneration === metadata.generation;
  return { ready: status?.readyReplicas ?? 0, desired: spec.replicas ?? 0, isCurrent };
}

function stillEmpty(pool: SandboxWarmPool): UpError {
  const { namespace = '', name = '' } = pool.metadata;
  const { ready, desired } = stateOf(pool);
  const conditions = pool.status?.conditions ?? [];
  return new UpError({
    step: 'Filling the warm pool',
    problem: `only ${ready} of ${desired} sandboxes of ${name} are ready after ${POOL_LIMIT_MS / 1000} s`,
    details: conditions.map(({ type, status, message }) => `${type}=${status} ${message}`).join('\n'),
    advice: `See what holds them up: kubectl -n ${namespace} describe sandboxwarmpool ${name}; kubectl -n ${namespace} get sandboxes,pods,pvc`,
  });
}
