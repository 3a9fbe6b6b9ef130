import type { SandboxWarmPool } from '@sandlot/api-types';
import { eventId } from '@sandlot/bus';
import type { Bus } from '@sandlot/bus';
import type { Announcement } from './plan.ts';

/** Tells the bus what has become of a pool. Losing it loses nothing: the status says the same. */
export function announce(
  bus: Bus,
  pool: SandboxWarmPool,
  { nowMs, ...announcement }: Announcement & { readonly nowMs: number },
): void {
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = pool.metadata;
  const { event, desired, ready } = announcement;
  const about = { namespace, name, uid, template: pool.spec.sandboxTemplateRef.name, desired, ready };
  // The version of the pool that the transition was seen on: a second look at it is the same transition.
  const seen = { id: eventId({ uid, type: event, marker: resourceVersion }), timeMs: nowMs };
  switch (announcement.event) {
    case 'pool.depleted':
    case 'pool.ready':
      bus.publish({ type: announcement.event, ...seen, data: about });
      break;
    case 'pool.rollout.started':
    case 'pool.rollout.finished': {
      const { templateHash, marker } = announcement;
      const id = eventId({ uid, type: event, marker });
      bus.publish({ type: announcement.event, ...seen, id, data: { ...about, templateHash } });
      break;
    }
    case 'pool.stuck': {
      const { stuck, reason, message } = announcement;
      bus.publish({ type: 'pool.stuck', ...seen, data: { ...about, stuck, reason, message } });
    }
  }
}
