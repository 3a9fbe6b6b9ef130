import type { EventRecorder } from '@sandlot/kube';
import type { AdoptDeps } from './adopt.ts';
import type { BatchMemory } from './batch-memory.ts';
import type { Cache } from './cache.ts';
import type { ClaimEvents } from './events.ts';
import type { PublishDeps } from './publish.ts';
import type { RuntimeInits } from './runtime-inits.ts';
import type { ClaimTraces } from './trace.ts';
import type { Waiters } from './waiters.ts';
import type { WriteBehind } from './write-behind.ts';

/** What the steps of a plan are carried out with. */
export interface ApplyDeps extends AdoptDeps, PublishDeps {
  readonly cache: Pick<Cache, 'pools' | 'sandboxes'>;
  readonly batches: BatchMemory;
  readonly writeBehind: WriteBehind;
  readonly recorder: EventRecorder;
  readonly events: ClaimEvents;
  readonly waiters: Waiters;
  readonly traces: Pick<ClaimTraces, 'carrierOf' | 'adoptionCarrierOf' | 'spanOf'>;
  readonly runtime: RuntimeInits;
  readonly nowMs: () => number;
}
