import type { SandboxClaim } from '@sandlot/api-types';
import type { EventRecorder } from '@sandlot/kube';
import type { AdoptDeps } from './adopt.ts';
import type { BatchMemory } from './batch-memory.ts';
import type { Cache } from './cache.ts';
import type { ClaimEvents } from './events.ts';
import type { PublishDeps } from './publish.ts';
import type { ReadSecrets } from './runtime-envs.ts';
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

/** The claim a plan is for, and the life of the pass. */
export interface Pass {
  readonly claim: SandboxClaim;
  readonly signal: AbortSignal;
  /** What the pass has read of the Secrets that the claim names; absent for a claim that names none. */
  readonly secrets?: ReadSecrets | undefined;
}
