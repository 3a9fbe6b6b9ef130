import type { FollowedEvent } from '@sandlot/bus';
import { toSandboxEvent } from '@sandlot/team-events';
import type { Clock } from '@sandlot/std';
import { decideStart } from './decide.ts';
import type { SeenEvent, Snapshot } from './plan/snapshot.ts';
import type { DeliveryStore } from './store/delivery-store.ts';
import type { FinishedMark } from './stream/finished-mark.ts';
import { lookBack } from './stream/look-back.ts';
import type { LookBackDeps } from './stream/look-back.ts';
import { parsePlace } from './stream/place.ts';
import { readSources } from './stream/read-sources.ts';
import type { Webhooks } from './wiring/informers.ts';

export interface ObserveDeps extends LookBackDeps {
  readonly store: Pick<DeliveryStore, 'readPlace'>;
  readonly mark: Pick<FinishedMark, 'read'>;
  readonly webhooks: Pick<Webhooks, 'listEnabled' | 'find'>;
  readonly clock: Clock;
}

/** Sequences of one pass. */
const WIDTH = 512;

/** Reads the next events of the stream. Rejects while NATS or Redis is away. */
export async function observe(deps: ObserveDeps): Promise<Snapshot> {
  const bounds = await deps.history.readBounds();
  const place = parsePlace(await deps.store.readPlace());
  const mark = place === undefined ? await deps.mark.read() : undefined;
  const start = decideStart({ bounds, place, mark });
  const readTo = Math.min(bounds.last, start + WIDTH);
  const found = await readSources(deps.history, { namespace: '*', from: start + 1, to: readTo, most: WIDTH });
  const before = await lookBack(deps, bounds, start);
  return {
    bounds,
    place,
    events: [...before.events, ...found.flatMap((each) => see(deps, each))],
    newcomers: before.newcomers,
    readTo: Math.max(start, readTo),
    nowMs: deps.clock.now(),
  };
}

function see({ webhooks }: ObserveDeps, { sequence, event }: FollowedEvent): readonly SeenEvent[] {
  const seen = toSandboxEvent(event);
  if (seen === undefined) return [];
  return [{ sequence, event: seen, webhooks: webhooks.listEnabled(event.data.namespace) }];
}
