import type { EventRecorder } from '@sandlot/kube';
import type { AdoptDeps } from '../adopt/adopt.ts';
import type { BatchMemory } from '../batch/batch-memory.ts';
import type { DeliveryMemory } from '../delivery/delivery-memory.ts';
import type { Cache } from '../wiring/cache.ts';
import type { Places } from '../quota/places.ts';
import type { ClaimEvents } from '../telemetry/events.ts';
import type { PublishDeps } from '../publish/publish.ts';
import type { RuntimeInits } from '../runtime/runtime-inits.ts';
import type { ClaimTraces } from '../telemetry/trace.ts';
import type { Waiters } from '../stock/waiters.ts';
import type { WriteBehind } from '../publish/write-behind.ts';

/** What `apply` needs to carry out the steps of a plan. */
export interface ApplyDeps extends AdoptDeps, PublishDeps {
  readonly cache: Pick<Cache, 'pools' | 'sandboxes'>;
  readonly batches: BatchMemory;
  readonly deliveries: DeliveryMemory;
  readonly writeBehind: WriteBehind;
  readonly recorder: EventRecorder;
  readonly events: ClaimEvents;
  readonly waiters: Waiters;
  readonly traces: Pick<ClaimTraces, 'findCarrier' | 'findAdoptionCarrier' | 'findSpan'>;
  readonly runtime: RuntimeInits;
  readonly places: Places;
  readonly nowMs: () => number;
}
