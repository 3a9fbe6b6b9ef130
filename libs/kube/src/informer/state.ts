import { computeBackoffMs } from '@sandlot/std';
import type { Random } from '@sandlot/std';

/** A streaming list is a watch that begins with the existing objects. Pages are ordinary list calls. */
export type ListMode = 'stream' | 'pages';

interface Memory {
  /** Failures since the reflector was last healthy; sets the backoff. */
  readonly failures: number;
  /** The mode of the next list. */
  readonly mode: ListMode;
  /** The server does not support streaming lists. The reflector does not try them again. */
  readonly refused: boolean;
  /** Our resourceVersion expired, and no event has arrived since the list that followed. */
  readonly gone: boolean;
}

export type RelistReason = 'start' | 'gone' | 'requested' | 'failure';

export type ReflectorState = Memory &
  (
    | {
        /** There is no resourceVersion to continue from. Ends at once, by starting a list. */
        readonly kind: 'empty';
        readonly reason: RelistReason;
        /** False: the server may answer from a cache that lags behind. */
        readonly consistent: boolean;
      }
    | {
        /** A list is running and the store is unchanged. Ends with a snapshot or a failure. */
        readonly kind: 'listing';
        readonly reason: RelistReason;
        readonly consistent: boolean;
      }
    | {
        /** The store shows `resourceVersion` and no watch is open. Ends at once, by opening a watch. */
        readonly kind: 'listed';
        readonly resourceVersion: string;
      }
    | {
        /** The reflector applies events as they arrive. Ends with the stream. */
        readonly kind: 'watching';
        readonly resourceVersion: string;
        readonly sinceMs: number;
        readonly progressed: boolean;
      }
    | {
        /** A request failed. After `delayMs`, `next` follows. */
        readonly kind: 'backoff';
        readonly delayMs: number;
        readonly next: ReflectorState;
      }
  );

/** `refused`: the server does not accept this kind of request. `gone`: our resourceVersion or continue token expired. */
export type Failure = 'refused' | 'gone' | 'other';

export type ReflectorInput =
  /** The wait of the state is over. */
  | { readonly kind: 'proceed' }
  /** The store now shows the listed snapshot. */
  | { readonly kind: 'listed'; readonly resourceVersion: string }
  /** The reflector applied an event or received a bookmark. */
  | { readonly kind: 'event'; readonly resourceVersion: string }
  /** The server ended the stream cleanly. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly failure: Failure; readonly retryAfterMs?: number | undefined }
  /** A caller needs a snapshot that is newer than now. */
  | { readonly kind: 'relist' };

export interface StepContext {
  /** Monotonic. */
  readonly nowMs: number;
  readonly random: Random;
}

const BACKOFF = { baseMs: 800, maxMs: 30_000 };

/** After a watch of this duration, the reflector forgets earlier failures. */
const HEALTHY_MS = 60_000;

/** A watch that ends earlier without an event counts as a failure, so that the reflector does not loop without delay. */
const TOO_SHORT_MS = 1_000;

export function createInitialState(consistent: boolean): ReflectorState {
  return { kind: 'empty', reason: 'start', consistent, failures: 0, mode: 'stream', refused: false, gone: false };
}

/** Returns the state after an input. A state ignores inputs that do not apply to it. */
export function step(state: ReflectorState, input: ReflectorInput, context: StepContext): ReflectorState {
  switch (input.kind) {
    case 'proceed':
      return continueWatch(state, context);
    case 'listed':
      return { kind: 'listed', resourceVersion: input.resourceVersion, ...rememberList(state) };
    case 'event':
      return state.kind === 'watching'
        ? { ...state, resourceVersion: input.resourceVersion, progressed: true, gone: false }
        : state;
    case 'ended':
      return handleEnd(state, context);
    case 'failed':
      return handleFailure(state, input, context);
    case 'relist':
      return { kind: 'empty', reason: 'requested', consistent: true, ...buildMemory(state) };
  }
}

function continueWatch(state: ReflectorState, { nowMs }: StepContext): ReflectorState {
  switch (state.kind) {
    case 'empty':
      return { ...state, kind: 'listing' };
    case 'listed':
      return { ...state, kind: 'watching', sinceMs: nowMs, progressed: false };
    case 'backoff':
      return state.next;
    case 'listing':
    case 'watching':
      return state;
  }
}

function handleEnd(state: ReflectorState, context: StepContext): ReflectorState {
  if (state.kind === 'listing') return handleFailure(state, { failure: 'other' }, context);
  if (state.kind !== 'watching') return state;
  if (!state.progressed && context.nowMs - state.sinceMs < TOO_SHORT_MS) {
    return handleFailure(state, { failure: 'other' }, context);
  }
  return { kind: 'listed', resourceVersion: state.resourceVersion, ...buildMemory(state, context.nowMs) };
}

type FailureInput = Pick<Extract<ReflectorInput, { kind: 'failed' }>, 'failure' | 'retryAfterMs'>;

function handleFailure(state: ReflectorState, input: FailureInput, context: StepContext): ReflectorState {
  const before = buildMemory(state, context.nowMs);
  if (state.kind === 'listing' && state.mode === 'stream' && input.failure === 'refused') {
    return { ...state, mode: 'pages', refused: true };
  }
  const after: Memory = { ...before, failures: before.failures + 1 };
  if (input.failure === 'gone') {
    const empty: ReflectorState = { kind: 'empty', reason: 'gone', consistent: true, ...after, gone: true };
    // The server answers, so list again without a delay, but back off if the previous list did not help either.
    return before.gone ? backOff(empty, input, context) : empty;
  }
  if (state.kind === 'watching' && input.failure === 'refused') {
    return backOff({ kind: 'empty', reason: 'failure', consistent: true, ...after }, input, context);
  }
  return backOff(resumeAfterFailure(state, after), input, context);
}

/** The next state after a failure that does not concern our resourceVersion. */
function resumeAfterFailure(state: ReflectorState, after: Memory): ReflectorState {
  switch (state.kind) {
    case 'listed':
    case 'watching':
      return { kind: 'listed', resourceVersion: state.resourceVersion, ...after };
    case 'empty':
    case 'listing':
      // After a failed streaming list, try one list in pages, which is more robust. Later lists stream again.
      return { kind: 'empty', reason: 'failure', consistent: state.consistent, ...after, mode: 'pages' };
    case 'backoff':
      return state.next;
  }
}

function backOff(next: ReflectorState, { retryAfterMs = 0 }: FailureInput, { random }: StepContext): ReflectorState {
  const delayMs = Math.max(computeBackoffMs({ attempt: next.failures - 1, ...BACKOFF, random }), retryAfterMs);
  return { kind: 'backoff', delayMs: Math.min(delayMs, BACKOFF.maxMs), next, ...buildMemory(next) };
}

function buildMemory(state: ReflectorState, nowMs?: number): Memory {
  const { failures, mode, refused, gone } = state;
  const healthy = state.kind === 'watching' && nowMs !== undefined && nowMs - state.sinceMs >= HEALTHY_MS;
  return { failures: healthy ? 0 : failures, mode, refused, gone: gone && !healthy };
}

function rememberList(state: ReflectorState): Memory {
  return { ...buildMemory(state), mode: state.refused ? 'pages' : 'stream' };
}
