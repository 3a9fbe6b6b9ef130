/** When an operation counts as slow, milliseconds. */
export interface SlowLimits {
  /** From a claim to its Ready, when a warm Sandbox served it. */
  readonly warmMs: number;
  /** Anything that waits for a Pod: cold starts, resumes, suspensions, refills. */
  readonly coldMs: number;
}

/** What the tracing of this process decides by. */
export interface TracingState {
  readonly slow: SlowLimits;
  /** Whether a trace without a sampled or unsampled parent is recorded from its beginning. */
  isInRatio(traceId: string): boolean;
  /** Calls `exportSpan` if a trace that was not sampled is kept, once that is known. */
  hold(traceId: string, exportSpan: () => void): void;
  /** Ends the wait for a decision about a trace that is not. */
  decide(traceId: string, keep: boolean): void;
}

let state: TracingState | undefined;

/** Undefined while spans go nowhere: whoever makes spans asks this first. */
export function tracingState(): TracingState | undefined {
  return state;
}

export function setTracingState(next: TracingState | undefined): void {
  state = next;
}
