import { findCondition } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';

/** When a claim got how far, in milliseconds after its creation was sent. */
export interface ClaimTimeline {
  /** The API server accepted the claim. */
  readonly submittedMs: number;
  /** Its status named a sandbox. */
  readonly boundMs: number;
  /** Its Ready condition turned True. */
  readonly readyMs: number;
  readonly sandbox: string;
  /** `Warm`: from the pool; `Cold`: made for this claim. */
  readonly origin: 'Warm' | 'Cold' | undefined;
}

/** What one state of a claim says. */
export interface ClaimProgress {
  readonly sandbox: string | undefined;
  readonly ready: boolean;
  /** The Ready condition's reason and message while it is not True. */
  readonly waitingFor: string;
}

/** Reads a claim's status. */
function claimProgress(claim: SandboxClaim): ClaimProgress {
  const ready = findCondition(claim.status?.conditions ?? [], 'Ready');
  const name = claim.status?.sandbox?.name;
  const sandbox = name === '' ? undefined : name;
  if (ready === undefined) return { sandbox, ready: false, waitingFor: 'no status yet' };
  return { sandbox, ready: ready.status === 'True', waitingFor: `${ready.reason}: ${ready.message}` };
}

/** Takes states of one claim in the order they were seen and keeps the first time of each stage. */
export class TimelineRecorder {
  #submittedMs: number | undefined;
  #boundMs: number | undefined;
  #readyMs: number | undefined;
  #last: ClaimProgress = { sandbox: undefined, ready: false, waitingFor: 'no status yet' };

  submitted(atMs: number): void {
    this.#submittedMs ??= atMs;
  }

  seen(claim: SandboxClaim, atMs: number): void {
    this.#last = claimProgress(claim);
    if (this.#last.sandbox !== undefined) this.#boundMs ??= atMs;
    if (this.#last.ready) this.#readyMs ??= atMs;
  }

  get waitingFor(): string {
    return this.#last.waitingFor;
  }

  /** The timeline once the claim is ready and its creation was answered, undefined before. */
  result(): Omit<ClaimTimeline, 'origin'> | undefined {
    const { sandbox } = this.#last;
    if (this.#submittedMs === undefined || this.#boundMs === undefined || this.#readyMs === undefined) return undefined;
    if (sandbox === undefined) return undefined;
    return { submittedMs: this.#submittedMs, boundMs: this.#boundMs, readyMs: this.#readyMs, sandbox };
  }
}
