import type { SandboxWarmPool } from '@sandlot/api-types';
import { eventId } from '@sandlot/bus';
import type { Bus } from '@sandlot/bus';
import type { Announcement } from './plan.ts';

/** Tells the bus that a pool ran empty or is full. Losing it loses nothing: the status says the same. */
export function announce(
  bus: Bus,
  pool: SandboxWarmPool,
  { event, desired, ready, nowMs }: Announcement & { readonly nowMs: number },
): void {
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = pool.metadata;
  bus.publish({
    type: event,
    // The version of the pool that the transition was seen on: a second look at it is the same transition.
    id: eventId({ uid, type: event, marker: resourceVersion }),
    timeMs: nowMs,
    data: { namespace, name, uid, template: pool.spec.sandboxTemplateRef.name, desired, ready },
  });
}
