import { quantityValue } from '@sandlot/api-types';
import type { Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import { BY_CONTROLLER } from '../wiring/cache.ts';
import type { Cache } from '../wiring/cache.ts';

/** What a pod asks its node for: cores and bytes. */
export interface Requests {
  readonly cpu: number;
  readonly memory: number;
}

/** What one member of the pool asks for, told by any of its members: they are alike, but for a rollout. */
export function requestsOf(
  { sandboxes }: Pick<Cache, 'sandboxes'>,
  { metadata }: SandboxWarmPool,
): Requests | undefined {
  for (const member of sandboxes.store.byIndex(BY_CONTROLLER, metadata.uid ?? '')) return requestsOfPod(member);
  return undefined;
}

/** Containers that run side by side; a limit without a request is a request, as the API server has it. */
export function requestsOfPod({ spec }: Pick<Sandbox, 'spec'>): Requests {
  const { containers } = spec.podTemplate.spec;
  const total = (resource: keyof Requests): number =>
    containers.reduce((sum, { resources }) => {
      const amount = resources?.requests?.[resource] ?? resources?.limits?.[resource] ?? 0;
      return sum + (quantityValue(amount) ?? 0);
    }, 0);
  return { cpu: total('cpu'), memory: total('memory') };
}
