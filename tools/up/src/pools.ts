import { setTimeout as sleep } from 'node:timers/promises';
import { sandboxWarmPools } from '@sandlot/api-types';
import type { SandboxWarmPool } from '@sandlot/api-types';
import type { KubeClient } from '@sandlot/kube';
import { UpError } from './errors.ts';

const POOL_LIMIT_MS = 180_000;
const POLL_MS = 100;

/** Waits until all members of the pool are ready, and returns their number. Throws an UpError with its conditions. */
export async function waitForPool(
  client: KubeClient,
  key: { readonly namespace: string; readonly name: string },
  report: (text: string) => void,
): Promise<number> {
  const deadlineMs = performance.now() + POOL_LIMIT_MS;
  for (;;) {
    const pool = await client.get(sandboxWarmPools, key);
    const { ready, desired, isCurrent } = buildState(pool);
    if (isCurrent && ready >= desired) return ready;
    report(`${ready} of ${desired} ready`);
    if (performance.now() > deadlineMs) throw createTimeoutError(pool);
    await sleep(POLL_MS);
  }
}

interface PoolState {
  readonly ready: number;
  readonly desired: number;
  /** The status is about the pool's newest spec. */
  readonly isCurrent: boolean;
}

function buildState({ metadata, spec, status }: SandboxWarmPool): PoolState {
  const isCurrent = status?.observedGeneration === metadata.generation;
  return { ready: status?.readyReplicas ?? 0, desired: spec.replicas ?? 0, isCurrent };
}

function createTimeoutError(pool: SandboxWarmPool): UpError {
  const { namespace = '', name = '' } = pool.metadata;
  const { ready, desired } = buildState(pool);
  const conditions = pool.status?.conditions ?? [];
  return new UpError({
    step: 'Filling the warm pool',
    problem: `only ${ready} of ${desired} sandboxes of ${name} are ready after ${POOL_LIMIT_MS / 1000} s`,
    details: conditions.map(({ type, status, message }) => `${type}=${status} ${message}`).join('\n'),
    advice: `See what holds them up: kubectl -n ${namespace} describe sandboxwarmpool ${name}; kubectl -n ${namespace} get sandboxes,pods,pvc`,
  });
}
