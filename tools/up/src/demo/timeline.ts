import { findCondition } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';

/** When a claim reached each stage, in milliseconds after the create request. */
export interface ClaimTimeline {
  /** The API server accepted the claim. */
  readonly submittedMs: number;
  /** Its status named a sandbox. */
  readonly boundMs: number;
  /** Its Ready condition turned True. */
  readonly readyMs: number;
  readonly sandbox: string;
  /** `Warm`: adopted from the pool. `Cold`: created for this claim. */
  readonly origin: 'Warm' | 'Cold' | undefined;
}

/** How far a claim is. */
export interface ClaimProgress {
  readonly sandbox: string | undefined;
  readonly ready: boolean;
  /** Reason and message of the Ready condition. */
  readonly waitingFor: string;
}

function buildProgress(claim: SandboxClaim): ClaimProgress {
  const ready = findCondition(claim.status?.conditions ?? [], 'Ready');
  const name = claim.status?.sandbox?.name;
  const sandbox = name === '' ? undefined : name;
  if (ready === undefined) return { sandbox, ready: false, waitingFor: 'no status yet' };
  return { sandbox, ready: ready.status === 'True', waitingFor: `${ready.reason}: ${ready.message}` };
}

/** Receives the states of one claim in order, and keeps the first time of each stage. */
export class TimelineRecorder {
  #submittedMs: number | undefined;
  #boundMs: number | undefined;
  #readyMs: number | undefined;
  #last: ClaimProgress = { sandbox: undefined, ready: false, waitingFor: 'no status yet' };

  recordCreation(atMs: number): void {
    this.#submittedMs ??= atMs;
  }

  recordState(claim: SandboxClaim, atMs: number): void {
    this.#last = buildProgress(claim);
    if (this.#last.sandbox !== undefined) this.#boundMs ??= atMs;
    if (this.#last.ready) this.#readyMs ??= atMs;
  }

  get waitingFor(): string {
    return this.#last.waitingFor;
  }

  /** Returns the timeline once the claim is Ready and the create call has returned, undefined before. */
  result(): Omit<ClaimTimeline, 'origin'> | undefined {
    const { sandbox } = this.#last;
    if (this.#submittedMs === undefined || this.#boundMs === undefined || this.#readyMs === undefined) return undefined;
    if (sandbox === undefined) return undefined;
    return { submittedMs: this.#submittedMs, boundMs: this.#boundMs, readyMs: this.#readyMs, sandbox };
  }
}
