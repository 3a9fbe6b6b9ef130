import type { HistoryBounds } from '@sandlot/bus';
import type { Place, Plan, PlannedDelivery, SeenEvent, Snapshot } from './plan/snapshot.ts';

interface Known {
  readonly bounds: HistoryBounds;
  /** Of Redis. */
  readonly place: Place | undefined;
  /** Up to which every delivery has ended, as etcd has it. */
  readonly mark: Place | undefined;
}

/**
 * The sequence behind which a pass reads. Without a place in Redis it is what may be unfinished. With neither, all events are read: a
 * webhook gets none from before it was registered.
 */
export function decideStart({ bounds, place, mark }: Known): number {
  const known = [place, mark].find((each) => each !== undefined);
  if (known === undefined || known.stream !== bounds.created) return bounds.first - 1;
  return Math.max(bounds.first - 1, Math.min(known.sequence, bounds.last));
}

/** Which webhook gets which event. */
export function decideDeliveries({ bounds, events, readTo }: Snapshot): Plan {
  return {
    after: { stream: bounds.created, sequence: readTo },
    deliveries: events.flatMap(planEvent),
    isMore: readTo < bounds.last,
  };
}

function planEvent({ sequence, event, webhooks }: SeenEvent): readonly PlannedDelivery[] {
  return webhooks
    .filter(
      ({ events, createdAt }) => events.includes(event.type) && Date.parse(createdAt) <= Date.parse(event.timestamp),
    )
    .map(({ id }) => ({ webhook: id, sequence, event }));
}
