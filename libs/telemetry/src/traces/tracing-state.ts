/** Durations from which an operation counts as slow, milliseconds. */
export interface SlowLimits {
  /** From the creation of a claim to Ready, with a warm Sandbox. */
  readonly warmMs: number;
  /** Everything that waits for a Pod: cold starts, resumes, suspensions, refills. */
  readonly coldMs: number;
}

/** The tracing of this process. */
export interface TracingState {
  readonly slow: SlowLimits;
  /** Whether a trace without a parent is sampled. */
  isInRatio(traceId: string): boolean;
  /** Calls `exportSpan` if and when the decision keeps an unsampled trace. */
  hold(traceId: string, exportSpan: () => void): void;
  /** Decides about an unsampled trace. */
  decide(traceId: string, keep: boolean): void;
}

let state: TracingState | undefined;

/** Undefined while tracing is off; code that creates spans checks it first. */
export function buildTracingState(): TracingState | undefined {
  return state;
}

export function setTracingState(next: TracingState | undefined): void {
  state = next;
}
