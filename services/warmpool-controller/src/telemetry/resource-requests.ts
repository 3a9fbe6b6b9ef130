import { parseQuantity } from '@sandlot/api-types';
import type { Sandbox, SandboxWarmPool } from '@sandlot/api-types';
import { BY_CONTROLLER } from '../wiring/cache.ts';
import type { Cache } from '../wiring/cache.ts';

/** What a Pod requests from its node: cores and bytes. */
export interface Requests {
  readonly cpu: number;
  readonly memory: number;
}

/** The requests of one member of the pool; members are alike, except during a rollout. Undefined without members. */
export function findRequests(
  { sandboxes }: Pick<Cache, 'sandboxes'>,
  { metadata }: SandboxWarmPool,
): Requests | undefined {
  for (const member of sandboxes.store.listByIndex(BY_CONTROLLER, metadata.uid ?? '')) return getRequestsOfPod(member);
  return undefined;
}

/** The sum over the containers. Like the API server, takes a limit for the request of a container that has none. */
export function getRequestsOfPod({ spec }: Pick<Sandbox, 'spec'>): Requests {
  const { containers } = spec.podTemplate.spec;
  const total = (resource: keyof Requests): number =>
    containers.reduce((sum, { resources }) => {
      const amount = resources?.requests?.[resource] ?? resources?.limits?.[resource] ?? 0;
      return sum + (parseQuantity(amount) ?? 0);
    }, 0);
  return { cpu: total('cpu'), memory: total('memory') };
}
