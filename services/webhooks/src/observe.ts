import type { EventHistory, FollowedEvent, HistoryBounds } from '@sandlot/bus';
import { toSandboxEvent } from '@sandlot/team-events';
import type { Clock } from '@sandlot/std';
import { decideStart } from './decide.ts';
import type { SeenEvent, Snapshot } from './plan/snapshot.ts';
import type { DeliveryStore } from './store/delivery-store.ts';
import type { FinishedMark } from './stream/finished-mark.ts';
import { parsePlace } from './stream/place.ts';
import type { Webhooks } from './wiring/informers.ts';

export interface ObserveDeps {
  readonly history: EventHistory;
  readonly store: Pick<DeliveryStore, 'readPlace'>;
  readonly mark: Pick<FinishedMark, 'read'>;
  readonly webhooks: Pick<Webhooks, 'listEnabled'>;
  readonly clock: Clock;
}

/** The events that E2B's follow from. */
const FILTERS = ['sandlot.*.claim.>', 'sandlot.*.snapshot.ready'] as const;
/** Sequences of one pass. */
const WIDTH = 512;

/** Reads the next events of the stream. Rejects while NATS or Redis is away. */
export async function observe(deps: ObserveDeps): Promise<Snapshot> {
  const bounds = await deps.history.readBounds();
  const place = parsePlace(await deps.store.readPlace());
  const mark = place === undefined ? await deps.mark.read() : undefined;
  const start = decideStart({ bounds, place, mark });
  const readTo = Math.min(bounds.last, start + WIDTH);
  const found = await readEvents(deps.history, { bounds, from: start + 1, to: readTo });
  return {
    bounds,
    place,
    events: found.flatMap((each) => see(deps, each)),
    readTo: Math.max(start, readTo),
    nowMs: deps.clock.now(),
  };
}

interface Range {
  readonly bounds: HistoryBounds;
  readonly from: number;
  readonly to: number;
}

async function readEvents(history: EventHistory, { from, to }: Range): Promise<readonly FollowedEvent[]> {
  if (from > to) return [];
  const parts = await Promise.all(FILTERS.map((filter) => history.read({ filter, from, to, most: WIDTH })));
  return parts.flatMap(({ events }) => events).sort((a, b) => a.sequence - b.sequence);
}

function see({ webhooks }: ObserveDeps, { sequence, event }: FollowedEvent): readonly SeenEvent[] {
  const seen = toSandboxEvent(event);
  if (seen === undefined) return [];
  return [{ sequence, event: seen, webhooks: webhooks.listEnabled(event.data.namespace) }];
}
